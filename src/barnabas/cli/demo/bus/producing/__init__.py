"""What happens in the company: orders, measurements, requests. Each is made by a thread, and counted."""
