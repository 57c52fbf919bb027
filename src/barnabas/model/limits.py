"""Every maximum in one place, each with its reason. What a client can make grow has a number here.

Settings (model/settings.py) let an operator move some of them; these are the floors and ceilings that hold without one.
"""

# --- the wire -------------------------------------------------------------------------------------------------------
ARRAY_MAX_ELEMENTS = 1_000_000  # of a message; an array is also never longer than its bytes (CVE-2022-34917)
REQUEST_ELEMENTS_MAX = 250_000  # of all arrays of a request. 1 us to decode each, in a thread
LOOKED_UP_ELEMENTS_MAX = 125_000  # where each is looked up: 50,000 partitions, each of another topic, and more
FETCHED_ELEMENTS_MAX = 40_000  # of a Fetch, 1 us for each in one step: 20,000 partitions, each of another topic
ASSIGNED_ELEMENTS_MAX = 50_000  # where replicas are named as well: 10,000 partitions with four each
NAMED_ELEMENTS_MAX = 20_000  # where a handler looks at all in one step, 2 us each: members, filters, a transaction
DELETED_TOPICS_MAX = 10_000  # in one DeleteTopics, 4 us each; Kafka's controller writes as many records in one go
LARGE_REQUEST_BYTES = 8 * 1024  # above it a request is worked off in parts; it may name a thousand things
LARGE_REQUEST_THREAD_BYTES = 64 * 1024  # above it a thread decodes the request: from here on it takes milliseconds
OPENED_AT_ONCE_BYTES = 2 * 1024 * 1024  # of a log and its indexes, read on the loop at opening: up to 30 ms
DECODED_ELEMENT_BYTES = 1_000  # of a large request while it is worked off: decoded, looked up, an item of the answer
TAGGED_FIELDS_MAX = 10_000  # tags of one struct; a known client sends a handful

# --- decompression --------------------------------------------------------------------------------------------------
DECOMPRESS_MAX_RATIO = 64  # text of activity compresses 5-20 times; past 64 it is a bomb (CVE-2023-34455)
DECOMPRESS_SMALL_BYTES = 16 * 1024 * 1024  # below this no ratio is refused: a run of equal records shrinks 1,000 times
DECOMPRESS_MAX_BYTES = 100 * 1024 * 1024  # a batch never opens to more than a request may carry

# --- produced batches -----------------------------------------------------------------------------------------------
RECORDS_PER_BATCH_MAX = 1_000_000  # librdkafka's own ceiling (batch.num.messages); a header may claim 2**31 in 70 bytes
RECORD_ERRORS_LISTED_MAX = 1_000  # refused records named in one answer, 80 bytes each; Kafka names all of them
PRODUCE_PARTITIONS_MAX = 15_000  # topics and partitions in one Produce; 1 MiB, Java's largest, has 14,000 batches
OPENED_AT_ONCE_MAX = 2  # large batches opened at a time, each up to DECOMPRESS_MAX_BYTES; the others wait

# --- connections ----------------------------------------------------------------------------------------------------
CONNECTIONS_MAX = 10_000  # sockets of one node
CONNECTIONS_LOW = 1_000  # fewer than these for want of descriptors, and the start says so
CONNECTIONS_PER_ADDRESS_MAX = 1_000  # one runaway client cannot take them all
CONNECTION_QUEUED_MAX_BYTES = 64 * 1024 * 1024  # answers waiting for a client that does not read; then reading stops
NODE_QUEUED_MAX_BYTES = 512 * 1024 * 1024  # the same over all connections
CONNECTION_WAITING_REPLIES_MAX = 1_000  # requests of one connection that wait for their answer; clients send five
KEPT_FIRST_BYTES = 64 * 1024  # room made for a frame before its bytes come; more only as they do (slow dribble)
REQUEST_STALLED_SECONDS = 5.0  # a half-sent frame without news, while others wait for the memory it holds
REQUEST_FRAME_SECONDS = 30.0  # the same for the whole frame; Kafka's clients give a request up after 30 s
REQUEST_MEMORY_SHARE = 8  # half-sent requests may take an eighth of the machine's memory ...
REQUEST_MEMORY_MIN_BYTES = 128 * 1024 * 1024  # ... but no less than this: one request of 100 MiB must fit
REQUEST_MEMORY_MAX_BYTES = 1024 * 1024 * 1024  # ... and no more: it is no cache
SESSION_PARTITION_BYTES = 400  # what one partition of a fetch session or of a waiting fetch weighs
RECEIVE_BUFFER_BYTES = 1024 * 1024  # shared by all connections of a node

PEER_ANSWER_MAX_BYTES = 256 * 1024 * 1024  # an answer of another node: a fetch, one batch of a whole request at most
SPARK_ANSWER_MAX_BYTES = 1 << 30  # a fetch of a Spark task: a batch is at most a topic's max.message.bytes

ABORTED_PER_FETCH_MAX = 20_000  # aborted transactions that a Fetch names: finding and encoding one takes 0.5 us
FETCH_SESSION_PARTITIONS_MAX = 50_000  # partitions remembered for one fetch session; a larger fetch has no session
FOLLOWER_SESSION_PARTITIONS_MAX = 100_000  # partitions a follower names; twice what a node may have
PRODUCERS_PER_PARTITION_MAX = 50_000  # producer ids a partition remembers; the idle give way
PRODUCERS_PER_NODE_MAX = 500_000  # the same over all partitions: one producer may write to all of them
PRODUCER_BYTES = 1_400  # what one weighs, with the five batches that are remembered
PRODUCER_IDLE_BEFORE_DROP_MS = 5 * 60_000  # clients repeat a batch for two minutes by default (delivery.timeout.ms)

DESCRIBED_PRODUCERS_MAX = 200_000  # producers in one DescribeProducers answer, about 0.5 KB each while it is made

# --- consumer groups ------------------------------------------------------------------------------------------------
GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000  # a member whose first JoinGroup hangs longer is gone (Kafka's number)
GROUP_PENDING_MEMBERS_MAX = 10_000  # ids handed out in one group that have not come back (KIP-394)
GROUP_TEXT_MAX_BYTES = 32_767  # ids and names: what a 16-bit length in a record of `__consumer_offsets` can carry
GROUP_RECORD_MAX_BYTES = 1_000_000  # one record of a group: it must fit a batch of `__consumer_offsets` (1 MiB)
GROUP_MEMBER_METADATA_MAX_BYTES = 4_000_000  # what a member says of itself, all its protocols; one of them is written
GROUP_METADATA_NODE_MAX_BYTES = 256 * 1024 * 1024  # what members say of themselves and were assigned, over all groups
GROUP_REGEX_MAX_CHARS = 4_096  # a subscription's pattern; RE2 keeps its running time linear, this its program
GROUP_REGEX_CACHED_MAX = 100  # expressions of which a coordinator keeps the topics; each may hold every topic's name
GROUP_REGEX_MAX_BYTES = 8 << 20  # memory of one compiled pattern (RE2's own default)

# --- transactions ---------------------------------------------------------------------------------------------------
TRANSACTIONAL_ID_MAX_BYTES = 32_767  # what the 16-bit length in the key of a `__transaction_state` record can carry
TRANSACTION_STATE_MAX_BYTES = 1_000_000  # the record of one transaction must fit a batch (max.message.bytes, 1 MiB)
MARKERS_PER_REQUEST_MAX = 1_000  # endings told to another node at once; the rest goes with the next request
ENLISTINGS_PER_REQUEST_MAX = 1_000  # transactions a leader asks another node's coordinator about at once
TRANSACTION_PATTERN_MAX_CHARS = 4_096  # of ListTransactions; RE2 keeps its running time linear, this its program
TRANSACTION_PATTERN_MAX_BYTES = 8 << 20  # memory of the compiled pattern (RE2's own default)

# --- logins ---------------------------------------------------------------------------------------------------------
CONNECT_TIMEOUT_SECONDS = 2.0  # a node waits so long until another one accepts; handshake and login have their own time
TLS_HANDSHAKE_SECONDS = 10  # a connection that has not done its handshake by then is closed
LOGIN_SECONDS = 30  # a connection that has not logged in by then is closed: it counts as one of the node's
PENDING_LOGINS_SHARE = 4  # of max.connections: a quarter may be connections that have not logged in ...
PENDING_LOGINS_MIN = 16  # ... but no fewer than these: a client opens several at once
FAILED_LOGIN_DELAY_MAX_MS = 5_000  # before a failed login is answered, however often it failed
FAILED_LOGINS_REMEMBERED = 10_000  # addresses and users whose failures are counted, 200 bytes each
SCRAM_CHANGES_MAX = 2_000  # of one request, 10 us each: two keys are made from every password
SCRAM_CREDENTIALS_MAX = 100_000  # of a cluster, 400 bytes each on every node
JWKS_MAX_BYTES = 1024 * 1024  # a provider's key set; those of large ones have 10 KB
JWKS_KEYS_MAX = 200  # keys of a key set; a large provider has ten
JWKS_FETCH_SECONDS = 10.0  # until a provider has answered; a login may wait for it, and has LOGIN_SECONDS
JWKS_UNKNOWN_KEY_SECONDS = (
    10.0  # between two fetches for keys that tokens name and nobody knows: strangers write tokens
)
TOKEN_HEADER_MAX_BYTES = 8 * 1024  # of a JWT: it may hold a certificate; the token is bounded by the login's message
SASL_EXTENSIONS_MAX = 100  # that a client sends with its token (KIP-342); each takes a microsecond to read
LOGIN_LIFETIME_MAX_MS = 365 * 86_400_000  # of a token that says it is valid for longer; then the client logs in again

# --- the cluster ----------------------------------------------------------------------------------------------------
PARTITIONS_PER_REQUEST_MAX = 10_000  # one request's records must fit one batch of the metadata log (Kafka's number too)
PARTITIONS_PER_NODE_MAX = 50_000  # replicas on one node: each is a folder, three open files and some memory
CONFIG_VALUE_MAX_CHARS = 32_767  # a setting's value, as in Kafka's metadata: what a 16-bit length can carry
CONFIGS_PER_RESOURCE_MAX = 1_000  # settings stored for one resource; a topic has 33, a broker may carry unknown names
GROUP_CONFIGS_MAX = 100_000  # groups with settings of their own: a group need not exist to have them
CONFIG_FILE_MAX_BYTES = 1024 * 1024  # a file of settings; Kafka's own is 6 KB
ELECTIONS_AT_ONCE_MAX = 1_000  # preferred leaders put back in one go, so that clients do not all move at once (Kafka's)
METADATA_CREATES_MAX = 100  # topics that one Metadata request creates; a name of ten bytes becomes a folder and files
DISK_ENOUGH_BYTES = 10 * 1024 * 1024  # free space with which a full disk counts as usable again
METADATA_RESERVE_BYTES = 2 * 1024 * 1024  # kept for the metadata log on a full disk: 15,000 changes of partitions
METADATA_CACHE_MAX_BYTES = 16 * 1024 * 1024  # encoded Metadata answers of one image
QUORUM_EPOCH_MAX = 2**30  # an epoch above it is refused: elections every second for 34 years come to it
PRODUCER_ID_BLOCK = 1_000  # ids given to a broker at once (KIP-730): one metadata record a thousand producers


# --- access control -------------------------------------------------------------------------------------------------
ACLS_MAX = 50_000  # rules of a cluster, about 1 KB each on every node; a change copies the table, 11 ms with so many
ACLS_PER_REQUEST_MAX = 5_000  # created at once: 5 us each to play onto the image, in one step
ACL_FILTERS_PER_REQUEST_MAX = 1_000  # of one DeleteAcls: each may be compared with every rule
ACL_MATCHES_PER_REQUEST_MAX = 100_000  # rules named in one DeleteAcls answer; a rule may match every filter
QUOTA_ENTITIES_MAX = 20_000  # with quotas, 0.5 KB each on every node; a change copies the table: 1 ms
QUOTA_ELEMENTS_MAX = 2_000  # of one AlterClientQuotas: 5 to 9 us for each value
CONNECTION_DELAY_MAX_MS = 5_000  # of a connection above max.connection.creation.rate; who comes then is refused
QUOTA_NAME_MAX_CHARS = 4_096  # of a user or client id with a quota
QUOTA_METERS_MAX = 20_000  # clients whose use is measured, 2 KB each; those that are quiet give way, then any
ACL_TEXT_MAX_CHARS = 4_096  # a name, a principal or a host in a rule: the longest name of a certificate fits
ACCESS_MEMO_MAX = 1_000  # decisions remembered for a connection, 200 bytes each; then it begins anew

# --- the audit trail ------------------------------------------------------------------------------------------------
AUDIT_EVENTS_MAX = 5_000  # told apart within an interval, 1.5 KB each; what comes beyond is counted together
AUDIT_EVENTS_PER_SOURCE_MAX = 100  # of one principal or address: nobody takes the place of all others
AUDIT_QUEUE_BYTES = 8 << 20  # events that wait for their topic to have a leader; then they are dropped, and counted
AUDIT_BATCH_BYTES = 256 << 10  # written at once: less than any message.max.bytes in use
AUDIT_TEXT_CHARS = 256  # of a principal, a resource, a client id; the longest name of a topic fits
AUDIT_DETAIL_CHARS = 512  # of a reason or a detail: a rule is shown whole unless its names are very long
AUDITED_ITEMS_MAX = 500  # of one administrative request, 10 us each; how many more there were is told

# --- delegation tokens ------------------------------------------------------------------------------------------------
DELEGATION_TOKENS_MAX = 10_000  # of a cluster, 600 bytes each on every node; finding one by its HMAC looks at all once
DELEGATION_TOKENS_PER_OWNER_MAX = 2_000  # one user cannot take them all
DELEGATION_TOKEN_RENEWERS_MAX = 200  # of a request, and of the record that it leads to
DELEGATION_TOKENS_EXPIRED_AT_ONCE = 1_000  # removed by one decision of the controller (Kafka's number)
TOKEN_CREDENTIALS_CACHED = 1_000  # what SCRAM needs for a token takes 3 ms to make, so it is kept: 300 bytes each

# --- storage --------------------------------------------------------------------------------------------------------
SEGMENT_FILES_OPEN_MAX = 2_000  # descriptors for segments; 10,000 partitions share them, the rest is for sockets
RECENT_BATCHES_MAX = 1_024  # positions of the newest batches kept in memory, 16 KB a partition at most
CLEANER_MAP_ENTRIES = 350_000  # keys in one pass of the cleaner, about 190 bytes each: 64 MB; more keys, more passes

# --- what a node tells of itself ------------------------------------------------------------------------------------
LOOP_BUDGET_MS = 50  # one callback of the loop; every connection waits for it (metrics/loop_watchdog.py)
LOOP_HOLD_SITES_MAX = 50  # functions remembered that held the loop longer
HEALTH_PROBLEMS_MAX = 200  # things that fail now, each a line of `doctor`; more are only counted
HEALTH_REASON_MAX_CHARS = 500  # of a reason shown there

# --- metrics ---------------------------------------------------------------------------------------------------------
METRICS_CONNECTIONS_MAX = 64  # of metrics.listeners, each; a Prometheus has one, a console one
METRICS_HEAD_BYTES = 8 * 1024  # of a request; a password in it is at most some hundred
METRICS_HEAD_SECONDS = 5.0  # until its last byte has come (slow dribble)
METRICS_IDLE_SECONDS = 180.0  # between two requests; Prometheus asks every 15 to 60 s
METRICS_SEND_SECONDS = 30.0  # until a client has read its answer
METRICS_QUEUED_MAX_BYTES = 128 * 1024 * 1024  # of answers that wait for clients; one of 50,000 partitions has 25 MB
METRICS_TOPICS_MAX = 1_000  # topics with series of their own, a dozen each: Prometheus keeps some KB for each series
METRICS_GROUPS_MAX = 1_000  # groups likewise, of those that a node coordinates
METRICS_LAG_PARTITIONS_A_ROUND = 5_000  # asked for their end every few seconds; the others have their turn later
METRICS_RULES_MAX = 200  # quotas with series of their own; the others are summed
METRICS_LOGINS_REMEMBERED = 100  # readers whose password was checked
METRICS_LOGIN_SECONDS = 60.0  # how long that counts

# --- links from other clusters ----------------------------------------------------------------------------------------
LINKS_MAX = 100  # of a cluster; each node that leads one of its topics has a connection to every node of the source
LINK_GROUPS_MAX = 10_000  # whose offsets a link brings over
LINK_USERS_MAX = 10_000  # that a link brings over, 300 bytes each: a cluster gives their keys in one answer
USER_NAME_MAX_CHARS = 1_024  # of those; longer names stay where they are
SCRAM_SALT_MAX_BYTES = 255  # of those; clients make 16 to 32
LINK_PATTERNS_MAX = 100  # expressions that name a link's topics, or its groups
LINK_PATTERN_MAX_CHARS = 1_024
LINK_PATTERN_MAX_BYTES = 256 << 10  # memory of a compiled one

# --- metrics that clients push (KIP-714) -----------------------------------------------------------------------------
TELEMETRY_SUBSCRIPTIONS_MAX = 200  # of a cluster; a new client is compared with each, 2 us
TELEMETRY_PATTERN_MAX_CHARS = 1_024  # of one selector of a subscription
TELEMETRY_PATTERN_MAX_BYTES = 256 << 10  # memory of a compiled selector; a subscription has at most six
TELEMETRY_CLIENTS_MAX = 10_000  # instances known, and with values, 1 KB each: who was silent longest gives way
TELEMETRY_OPENED_MAX_BYTES = 4 << 20  # a push, decompressed; that of a Java producer with 200 partitions has 0.5 MB
TELEMETRY_WAITING_MAX_BYTES = 8 << 20  # pushes that wait to be read, one at a time; who comes then is told to wait
TELEMETRY_FIELDS_MAX = 250_000  # of one push, 0.6 us each in a thread; a series has 10 to 20
TELEMETRY_SERIES_PER_CLIENT_MAX = 2_000  # of one instance, what comes first; more is counted
TELEMETRY_SERIES_MAX = 50_000  # of the node, 0.5 KB each: what a scrape shows; who pushed longest ago gives way
TELEMETRY_TEXT_MAX_BYTES = 32 << 20  # the names and labels of all series
TELEMETRY_NAME_MAX_CHARS = 200  # of a metric or a label; the longest of Java's clients has 90
TELEMETRY_LABEL_MAX_CHARS = 256  # a value of a label: the name of a topic has at most 249
TELEMETRY_LABELS_MAX = 12  # of a series; Java's clients have at most five

# --- the command line -----------------------------------------------------------------------------------------------
CLI_LINE_MAX_BYTES = 64 * 1024 * 1024  # more than a broker takes as one record; a file without line ends stays a line
CLI_ANSWER_MAX_BYTES = 64 * 1024 * 1024  # what doctor reads of an answer: Metadata of 1,000,000 partitions fits
CLI_SMALL_FILE_MAX_BYTES = 64 * 1024 * 1024  # index (10 MiB by default), snapshot, checkpoint: log dump reads them

# --- reading records for people (console, grep) ---------------------------------------------------------------------
SHOWN_VALUE_MAX_BYTES = 1024 * 1024  # of a value in a page, a tail or a search result; the whole is read on request
SHOWN_KEY_MAX_BYTES = 64 * 1024  # the same of a key
SHOWN_HEADERS_MAX_BYTES = 64 * 1024  # the same of all headers of a record
SHOWN_HEADERS_MAX = 500  # and how many of them
PAGE_RECORDS_MAX = 10_000  # in one page; a person reads 50
PAGE_KEPT_MAX_BYTES = 16 * 1024 * 1024  # of the records in one page; it ends early, and its cursors go on from there
PAGE_READ_MAX_BYTES = 64 * 1024 * 1024  # fetched for one page; the same
TAIL_RECORDS_PER_SECOND_MAX = 2_000  # a live tail gives to a person; a browser draws some hundreds
TAIL_EXAMINED_PER_SECOND_MAX = 20_000  # records that a live tail with a filter looks at, some microseconds each
EXPRESSION_MAX_CHARS = 4_096  # of a filter that a person types
EXPRESSION_DEPTH_MAX = 50  # brackets and negations within each other
EXPRESSION_PATH_MAX = 50  # steps of one path
EXPRESSION_LIST_MAX = 500  # literals behind `in`
PATTERN_MAX_BYTES = 8 << 20  # memory of a compiled regular expression (RE2's own default)
DECODED_MAX_CHARS = 1024 * 1024  # of a value as text; what is cut is said
DECODED_HEX_MAX_BYTES = 16 * 1024  # of a value in hexadecimal: 1,024 lines
SEARCHES_AT_ONCE_MAX = 2  # of one process; each takes a core, and 100 to 300 MB while it works; the others wait
SEARCH_KEPT_MAX = 10_000  # records that a search gives; what it finds beyond them is counted
SEARCH_KEPT_MAX_BYTES = 32 * 1024 * 1024  # of those records
SEARCH_PATTERN_MAX_CHARS = 4_096  # of a text or a regular expression
SEARCH_UNREADABLE_LISTED_MAX = 100  # batches named that could not be read; more are counted
REDRIVEN_COORDINATES_MAX = 10_000  # records named one by one to be sent again; a range or a search has no bound

# A schema registry
SCHEMA_MAX_BYTES = 1024 * 1024  # of a schema's text: the largest that people have are a tenth of it
SCHEMA_TOTAL_MAX_BYTES = 8 * 1024 * 1024  # of a schema's text with those of its references: all are read to parse it
SCHEMA_NESTING_MAX = 256  # of brackets in brackets in a schema's text
SCHEMA_TYPE_NESTING_MAX = 100  # of types in types, names followed: what walks over them is recursive
SCHEMA_NODES_MAX = 200_000  # types, fields and values of one schema with all that it refers to
SCHEMA_SUBSCHEMAS_MAX = 20_000  # schemas within one JSON Schema: each becomes an object
SCHEMA_REFERENCES_MAX = 1_000  # of one schema, those of its references included
SCHEMA_COMPARISONS_MAX = 100_000  # steps of one compatibility check: what needs more is refused, not waited for
PROTOBUF_NESTING_MAX = 64  # of messages in messages, parts of a package and values in options: protoc takes 32
INCOMPATIBILITIES_MAX = 100  # listed of one comparison
SCHEMA_RECORD_MAX_BYTES = 8 * SCHEMA_MAX_BYTES  # of `_schemas` that a broker reads: 30 ms; escapes and rules included
KNOWN_SCHEMAS_MAX_BYTES = 64 * 1024 * 1024  # of schema ids that a broker keeps to check records: 80,000 versions
AVRO_NESTING_MAX = 500  # of records in records of a value: fastavro reads by recursion in C, 5,000 end the process
AVRO_EMPTY_ITEMS_MAX = 100_000  # of a value's arrays whose items take no bytes: a count is all that says how many
AVRO_DECIMAL_MAX_BYTES = 512  # of a decimal: 1,200 digits; fastavro takes time by the square of it
REGISTRY_VERSIONS_MAX = 200_000  # of all subjects: 200 MB of memory with schemas of 1 KB
REGISTRY_TEXT_MAX_BYTES = 512 * 1024 * 1024  # of all schemas, which are kept in memory
REGISTRY_CONTEXTS_MAX = 10_000  # a look-up without a context may go through all of them
REGISTRY_SETTINGS_MAX = 200_000  # levels, and modes, of subjects that need not exist
REGISTRY_PARSED_MAX_BYTES = 32 * 1024 * 1024  # of schemas that were parsed and may be asked for again
REGISTRY_BODY_MAX_BYTES = 4 * SCHEMA_MAX_BYTES  # of a request: a schema in JSON is up to twice its size
REGISTRY_BODIES_MAX_BYTES = 64 * 1024 * 1024  # of all requests that are being received
REGISTRY_HEAD_MAX_BYTES = 64 * 1024  # of a request: its line and its headers
REGISTRY_CONNECTIONS_MAX = 2_000  # each client of Confluent's keeps ten
REGISTRY_COMPARED_MAX_BYTES = 8 * 1024 * 1024  # of versions that one transitive check parses: 8 s in a thread
REGISTRY_LISTED_MAX = 20_000  # subjects, versions and contexts in one answer, as in Confluent's
REGISTRY_SCHEMAS_LISTED_MAX = 1_000  # of GET /schemas, as in Confluent's
REGISTRY_ANSWER_MAX_BYTES = 64 * 1024 * 1024  # that a client reads: the list of a million subjects
REGISTRY_REASON_MAX_CHARS = 2_000  # of a refusal's text in an error: as much as names several fields
CONSOLE_DECODED_MAX_BYTES = 256 * 1024  # of a key or value that a console decodes by a schema: a few milliseconds
REGISTRY_CACHE_MAX = 10_000  # schemas, subjects and topics that one client remembers; the oldest goes first
