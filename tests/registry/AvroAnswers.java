import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.avro.*;

/** Answers of Apache Avro: a line of JSON with texts of schemas in, a line with what Avro says of them out. */
public class AvroAnswers {
  public static void main(String[] arguments) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode asked = mapper.readTree(line);
      ObjectNode answer = mapper.createObjectNode();
      try {
        Schema reader = parsed(asked, "reader", answer);
        if (asked.has("writer")) {
          Schema writer = parsed(asked, "writer", answer);
          ArrayNode found = answer.putArray("incompatibilities");
          for (SchemaCompatibility.Incompatibility each :
              SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getResult().getIncompatibilities())
            found.addArray().add(each.getType().name()).add(each.getLocation()).add(each.getMessage());
        }
      } catch (StackOverflowError | RuntimeException error) {
        answer.put("error", String.valueOf(error));
      }
      out.println(mapper.writeValueAsString(answer));
    }
  }

  private static Schema parsed(JsonNode asked, String whose, ObjectNode answer) {
    Schema.Parser parser = new Schema.Parser();
    parser.setValidateDefaults(true);
    List<Schema> references = new ArrayList<>();
    if (asked.has("references"))
      for (JsonNode text : asked.get("references")) references.add(parser.parse(text.asText()));
    Schema schema = parser.parse(asked.get(whose).asText());
    answer.put(whose + "Canonical", schema.toString(references, false));
    answer.put(whose + "Resolved", schema.toString());
    return schema;
  }
}
