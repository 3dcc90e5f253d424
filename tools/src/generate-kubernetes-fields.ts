// Generates the table for reading pods in binary form from the Go types of Kubernetes:
//   go mod download k8s.io/api@v0.37.2 k8s.io/apimachinery@v0.37.2
//   node tools/node24.mjs tools/src/generate-kubernetes-fields.ts ~/go/pkg/mod/k8s.io 0.33.13 0.35.8 0.37.2
// Oldest version first: removed fields stay in the table.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const TARGET = join(
  import.meta.dirname,
  "../../packages/kubernetes/src/adapters/api-server/protobuf/pod-fields.ts",
);
const ROOTS = ["PodList", "PartialObjectMetadataList", "Status"];
const COLUMNS = 110;
const SCALARS: Readonly<Record<string, string>> = {
  string: "string",
  bool: "bool",
  int32: "int",
  int64: "int",
  "types.UID": "string",
  Time: "time",
  Quantity: "quantity",
  IntOrString: "intOrString",
};
const SKIPPED: ReadonlySet<string> = new Set(["managedFields"]);

interface Field {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly message: string | null;
}

interface GoTypes {
  readonly structs: ReadonlyMap<string, readonly string[]>;
  readonly aliases: ReadonlyMap<string, string>;
}

function goTypes(source: string): GoTypes {
  const structs = new Map<string, string[]>();
  const aliases = new Map<string, string>();
  for (const [, name = "", body = ""] of source.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms))
    structs.set(name, body.split("\n"));
  for (const [, name = "", type = ""] of source.matchAll(/^type (\w+) (?!struct|interface)([\w.[\]*]+)$/gm))
    aliases.set(name, type);
  return { structs, aliases };
}

/** `Name *Type` with tags; embedded types have no name. */
const MEMBER = /^\t(?:\w+ +)?(?<type>\S+) +`json:"(?<json>[^"]*)".*?protobuf:"\w+,(?<number>\d+),/;

function fieldOf(line: string, types: GoTypes): Field | null {
  const { type = "", json = "", number = "" } = MEMBER.exec(line)?.groups ?? {};
  if (number === "") return null;
  const [name = "", ...options] = json.split(",");
  if (SKIPPED.has(name))
    return { number: Number(number), name, text: `${number}:${name} skipped`, message: null };
  const { element, shape } = resolved(type.replace("*", ""), types);
  const scalar = SCALARS[element];
  const canBeNull = shape !== "" || type.startsWith("*");
  const mark = canBeNull ? markOfNull(options) : markOfValue(scalar, options);
  return {
    number: Number(number),
    name,
    text: `${number}:${name === "" ? "..." : name} ${scalar ?? element}${shape}${mark}`,
    message: scalar === undefined ? element : null,
  };
}

function markOfNull(options: readonly string[]): "!" | "" {
  return options.includes("omitempty") ? "" : "!";
}

/** Whether JSON omits an empty value. Go omits structs only with omitzero. */
function markOfValue(scalar: string | undefined, options: readonly string[]): "?" | "" {
  if (scalar === undefined) return "";
  const isBasic = scalar === "string" || scalar === "bool" || scalar === "int";
  return options.includes(isBasic ? "omitempty" : "omitzero") ? "?" : "";
}

function resolved(type: string, types: GoTypes): { element: string; shape: "" | "[]" | "{}" } {
  if (type.startsWith("[]")) return { ...resolved(type.slice(2), types), shape: "[]" };
  const [, value] = /^map\[\w+\](.+)$/.exec(type) ?? [];
  if (value !== undefined) return { ...resolved(value, types), shape: "{}" };
  if (SCALARS[type] !== undefined) return { element: type, shape: "" };
  const bare = type.replace(/^\w+\./, "");
  const alias = types.aliases.get(bare);
  return alias === undefined ? { element: bare, shape: "" } : resolved(alias, types);
}

function addVersion(table: Map<string, Map<number, Field>>, types: GoTypes): void {
  for (const fields of table.values())
    for (const [number, field] of fields) fields.set(number, { ...field, text: field.text.replace("!", "") });
  const todo = [...ROOTS];
  for (const seen = new Set<string>(); todo.length > 0;) {
    const message = todo.pop()!;
    if (seen.has(message)) continue;
    seen.add(message);
    const lines = types.structs.get(message);
    if (lines === undefined) throw new Error(`no Go type ${message} found`);
    const fields = table.get(message) ?? new Map<number, Field>();
    table.set(message, fields);
    for (const line of lines) {
      const field = fieldOf(line, types);
      if (field === null) continue;
      const before = fields.get(field.number) ?? field;
      if (bare(before) !== bare(field))
        throw new Error(`of ${message} "${bare(before)}" has become "${bare(field)}"`);
      fields.set(field.number, field);
      if (field.message !== null) todo.push(field.message);
    }
  }
}

function bare({ text }: Field): string {
  return text.replace(/[?!]/, "");
}

function lineOf(message: string, fields: ReadonlyMap<number, Field>): string {
  const texts = [...fields.values()].toSorted((a, b) => a.number - b.number).map(({ text }) => text);
  const lines = [`${message} =`];
  for (const text of texts) {
    const line = `${lines.at(-1)!} ${text},`;
    if (line.length > COLUMNS) lines.push(` ${text},`);
    else lines[lines.length - 1] = line;
  }
  return lines.join("\n").replace(/,$/, "");
}

const [root = "", ...versions] = process.argv.slice(2);
if (versions.length === 0)
  throw new Error("usage: generate-kubernetes-fields.ts FOLDER VERSION [VERSION ...]");
const table = new Map<string, Map<number, Field>>();
for (const version of versions) {
  const files = [`apimachinery@v${version}/pkg/apis/meta/v1/types.go`, `api@v${version}/core/v1/types.go`];
  addVersion(table, goTypes(files.map((file) => readFileSync(join(root, file), "utf8")).join("\n")));
}
const messages = [...table].toSorted(([a], [b]) => (a < b ? -1 : 1)).map((entry) => lineOf(...entry));
writeFileSync(
  TARGET,
  `// Generated by tools/src/generate-kubernetes-fields.ts from the Go types of k8s.io/api
// ${versions.join(", ")}.

/**
 * The fields of a pod in its binary form: \`Message = number:name type, ...\`. \`[]\` is a list, \`{}\` a map by
 * text, \`...\` a message whose fields are the outer one's. Of a value that is empty \`?\` says that JSON leaves
 * it out, of an absent one \`!\` that JSON has null.
 */
export const POD_FIELDS = \`
${messages.join("\n")}
\`;
`,
);
console.log(`wrote ${table.size} messages`);
