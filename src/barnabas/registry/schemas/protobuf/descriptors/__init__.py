"""FileDescriptorProto, the binary form of a .proto file: what clients exchange with a registry besides the text."""
