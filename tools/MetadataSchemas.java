import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/** Prints the schemas of Kafka's metadata records as JSON, one record a line; tools/metadata_schemas.py makes files of them. */
public class MetadataSchemas {
    public static void main(String[] arguments) throws Exception {
        for (MetadataRecordType type : MetadataRecordType.values()) {
            Object record = type.newMetadataRecord();
            Schema[] schemas = (Schema[]) record.getClass().getField("SCHEMAS").get(null);
            List<String> versions = new ArrayList<>();
            for (int version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(); version++)
                versions.add("{\"version\":" + version + ",\"fields\":" + fields(schemas[version], record) + "}");
            System.out.println("{\"key\":" + type.id() + ",\"name\":\"" + type.name() + "\",\"versions\":[" + String.join(",", versions) + "]}");
        }
    }

    private static String fields(Schema schema, Object owner) throws Exception {
        List<String> found = new ArrayList<>();
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields) {
                for (Map.Entry<Integer, Field> tagged : ((TaggedFields) bound.def.type).fields().entrySet())
                    found.add(field(tagged.getValue(), owner, tagged.getKey()));
            } else {
                found.add(field(bound.def, owner, null));
            }
        }
        return "[" + String.join(",", found) + "]";
    }

    private static String field(Field field, Object owner, Integer tag) throws Exception {
        Type type = field.type;
        StringBuilder text = new StringBuilder("{\"name\":\"" + field.name + "\"");
        if (type.arrayElementType().isPresent()) {
            text.append(",\"array\":true,\"nullable\":" + type.isNullable());
            type = type.arrayElementType().get();
        } else {
            text.append(",\"nullable\":" + type.isNullable());
        }
        Object value = owner == null ? null : owner.getClass().getMethod(method(field.name)).invoke(owner);
        if (owner != null)
            text.append(",\"default\":" + json(value));
        if (tag != null)
            text.append(",\"tag\":" + tag);
        if (type instanceof Schema)
            text.append(",\"type\":\"struct\",\"fields\":" + fields((Schema) type, null));
        else
            text.append(",\"type\":\"" + type + "\"");
        return text.append("}").toString();
    }

    private static String method(String name) {
        StringBuilder result = new StringBuilder();
        for (String part : name.split("_"))
            result.append(result.length() == 0 ? part : Character.toUpperCase(part.charAt(0)) + part.substring(1));
        return result.toString();
    }

    private static String json(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean)
            return String.valueOf(value);
        return "\"" + (value instanceof String ? value : "") + "\"";
    }
}
