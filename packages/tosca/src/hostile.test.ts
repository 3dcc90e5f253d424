// Hostile templates: bounded work, and only ToscaErrors.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, it } from "vitest";
import { appGroupOf } from "./app-group.ts";
import { ToscaError } from "./errors.ts";
import { manifestsOf } from "./manifests.ts";
import { readTosca } from "./read.ts";
import { failureOf, readText, template } from "./testing/texts.ts";

const DATA = join(import.meta.dirname, "../../../test/data/tosca");
const TEXTS = [
  readFileSync(join(DATA, "../../../docs/examples/messaging.yaml"), "utf8"),
  readFileSync(join(DATA, "two-services.yaml"), "utf8"),
];
const PIECES = [
  "~",
  "[]",
  "{}",
  "-1",
  "1e309",
  "'x'",
  "{ get_input: x }",
  "{ get_property: [ SELF, name ] }",
  "- ",
  ": ",
  "*a",
  "&a ",
  "<<: ",
  "__proto__",
  "constructor",
  "toString",
  "k8s:Service",
  "Route",
];

function chain(length: number, value: (index: number) => string): string {
  const names = Array.from({ length }, (_, index) => `p${index}`);
  const properties = names.map((name) => `${name}: {}`).join(", ");
  const values = names
    .map((name, index) => `${name}: ${index === length - 1 ? "x" : value(index)}`)
    .join(", ");
  return template(`node_types: { N: { derived_from: k8s:Service, properties: { ${properties} } } }
topology_template:
  node_templates:
    a:
      type: N
      properties: { ${values} }
      capabilities: { deployment: { properties: { template: { containers: [ { name: a, args: { get_property: [ SELF, p0 ] } } ] } } } }
`);
}

describe("a hostile template", () => {
  it("doesn't make texts and values larger and larger", async () => {
    const next = (index: number): string => `{ get_property: [ SELF, p${index + 1} ] }`;
    const texts = chain(60, (index) => `{ concat: [ ${next(index)}, ${next(index)} ] }`);
    expect(await failureOf(texts)).toMatch(/must give a text of at most 1048576 characters, got 2097152/);
    const application = await readText(chain(60, (index) => `[ ${next(index)}, ${next(index)} ]`));
    expect(() => manifestsOf(application)).toThrow("template must have at most 500000 values, got more");
  });

  it("doesn't lead on for ever", async () => {
    const properties = chain(2_000, (index) => `{ get_property: [ SELF, p${index + 1} ] }`);
    expect(await failureOf(properties)).toContain("must be worked out over at most 100 properties, got more");
    const types = Array.from(
      { length: 2_000 },
      (_, index) => `  T${index}: { derived_from: T${index + 1} }\n`,
    );
    const text = template(`relationship_types:\n${types.join("")}  T2000: { derived_from: HTTPRoute }
topology_template: { node_templates: { a: { type: k8s:Service, requirements: [ { route: { node: a, relationship: T0 } } ] } } }`);
    expect(await failureOf(text)).toContain(
      "relationship_types.T0 must be derived over at most 100 types, got more",
    );
  });

  it("doesn't search for files without end", async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `n${index}.yaml`).join(", ");
    let reads = 0;
    const files = {
      read: (path: string) => {
        reads++;
        return Promise.resolve(path === "main.yaml" ? template("").replace("[", `[ ${names},`) : null);
      },
    };
    await expect(readTosca("main.yaml", { files })).rejects.toThrow("must not be more than 1000 imports");
    expect(reads).toBeLessThan(20_000);
  });

  it("doesn't compare all node templates with all requirements", async () => {
    const count = 8_000;
    const peers = Array.from(
      { length: count },
      (_, index) => `    n${index}: { type: N, requirements: [ x: N ] }\n`,
    );
    const text =
      template(`node_types: { N: { derived_from: SoftwareComponent, requirements: [ x: { relationship: ConnectsTo } ] } }
topology_template:
  node_templates:
${peers.join("")}`);
    const { services, channels } = await readText(text, {}, { isGraphOnly: true });
    expect([services.length, channels.length]).toEqual([count, 0]);
  });

  it("of any kind gives objects or a ToscaError with its file", async () => {
    const random = seededRandom(7);
    const below = (limit: number): number => Math.floor(random.next() * limit);
    const codes = new Set<string>();
    for (let round = 0; round < 40; round++) {
      const lines = TEXTS[round % 2]!.split("\n");
      for (let change = 0; change <= below(3); change++) {
        const at = below(lines.length);
        const words = /[\w.:-]+/g.exec(lines[at]!);
        const piece = PIECES[below(PIECES.length)]!;
        if (below(3) === 0) lines.splice(at, 1);
        else lines[at] = words === null ? piece : lines[at]!.replace(words[0], () => piece);
      }
      try {
        const application = await readText(lines.join("\n"));
        manifestsOf(application);
        appGroupOf(application);
        codes.add("read");
      } catch (error) {
        codes.add(error instanceof ToscaError ? `${error.code} in ${error.position.file}` : String(error));
      }
    }
    expect([...codes].filter((code) => !/^(read$|\w+ in (main\.yaml|--input)$)/.test(code))).toEqual([]);
    expect(codes.size).toBeGreaterThan(2);
  });
});
