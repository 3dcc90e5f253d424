import { describe, expect, it } from "vitest";
import { failureOf, pair, readText, template } from "./testing/texts.ts";

describe("a service template is refused", () => {
  it.each([
    [
      "an unknown version",
      "tosca_definitions_version: tosca_9",
      "main.yaml:1:28: tosca_definitions_version must be one of",
    ],
    ["no template", "a: 1", "main.yaml:1:1: the document must be a TOSCA service template"],
    ["no topology", template(""), "main.yaml:1:1: the document must have a topology_template"],
    [
      "no services",
      template("topology_template: { node_templates: {} }"),
      "main.yaml:3:20: topology_template must have a node template whose type is a Service, got none",
    ],
    [
      "an unknown target",
      pair("{ node: c, relationship: HTTPRoute }"),
      'main.yaml:9:24: topology_template.node_templates.a.requirements.0.route.node must name a node template (a, b), got "c"',
    ],
    [
      "an unknown type",
      pair("{ node: b, relationship: HTTPSRoute }"),
      "main.yaml:9:41: topology_template.node_templates.a.requirements.0.route.relationship must name one of the relationship_types (AMQPRoute",
    ],
    [
      "an unknown node type",
      template("topology_template: { node_templates: { a: { type: Service } } }"),
      "must name one of the node_types (k8s:Service)",
    ],
    [
      "an unknown property",
      pair("{ node: b, relationship: { type: HTTPRoute, properties: { prio: 1 } } }"),
      'relationship.properties.prio must be one of the properties that the type has (priority, maxNetworkCost, minBandwidth), got "prio"',
    ],
    [
      "a priority of a wrong type",
      pair("{ node: b, relationship: { type: HTTPRoute, properties: { priority: high } } }"),
      'main.yaml:9:84: topology_template.node_templates.a.requirements.0.route.relationship.properties.priority must be a number, got "high"',
    ],
    [
      "a negative priority",
      pair("{ node: b, relationship: { type: HTTPRoute, properties: { priority: -1 } } }"),
      "properties.priority must be a number of at least 0, got -1",
    ],
    [
      "an unknown requirement",
      pair("b").replace("- route", "- rout"),
      'requirements.0.rout must be a requirement of Service (route), got "rout"',
    ],
    [
      "an unknown capability",
      template(
        "topology_template: { node_templates: { a: { type: k8s:Service, capabilities: { deploy: {} } } } }",
      ),
      'capabilities.deploy must be a capability of Service (metadata, service, deployment), got "deploy"',
    ],
    [
      "requirements as a map",
      pair("b").replace("- route", "  route"),
      "main.yaml:9:9: topology_template.node_templates.a.requirements must be a list, got a map of route",
    ],
    [
      "a circle of types",
      pair("b", "relationship_types: { A: { derived_from: B }, B: { derived_from: A } }\n").replace(
        "route: b",
        "route: { node: b, relationship: A }",
      ),
      "must not be derived from itself, got A -> B -> A",
    ],
    [
      "a circle of properties",
      template(`node_types: { N: { derived_from: k8s:Service, properties: { x: { type: string }, y: { type: string } } } }
topology_template: { node_templates: { a: { type: N, properties: { x: { get_property: [ SELF, y ] }, y: { get_property: [ SELF, x ] } }, capabilities: { metadata: { properties: { name: { get_property: [ SELF, x ] } } } } } } }`),
      "main.yaml:4:71: topology_template.node_templates.a.properties.x must not be worked out from itself",
    ],
    [
      "an input that is missing",
      template(
        "topology_template: { inputs: { x: { type: string } }, node_templates: { a: { type: k8s:Service, capabilities: { metadata: { properties: { name: { get_input: x } } } } } } }",
      ),
      "topology_template.inputs.x must be given, by --input x=VALUE",
    ],
    [
      "a copy of what isn't there",
      template("topology_template: { node_templates: { a: { copy: b } } }"),
      'a.copy must name another node template, over at most 100 of them, got "b"',
    ],
    [
      "a circle of copies",
      template("topology_template: { node_templates: { a: { copy: b }, b: { copy: a } } }"),
      "must name another node template, over at most 100 of them",
    ],
    [
      "an unknown input",
      pair("{ node: b, relationship: { type: HTTPRoute, properties: { priority: { get_input: z } } } }"),
      'must name an input (there are none), got "z"',
    ],
    [
      "an attribute",
      pair(
        "{ node: b, relationship: { type: HTTPRoute, properties: { priority: { get_attribute: [ b, x ] } } } }",
      ),
      "must be known before anything runs",
    ],
    [
      "a name that is none",
      template("topology_template: { node_templates: { 燈: { type: k8s:Service } } }"),
      'topology_template.node_templates.燈 must be called by a name that Kubernetes takes (a-z, 0-9, -, at most 63 characters), got "燈"',
    ],
    [
      "a label that is no text",
      template(
        "topology_template: { node_templates: { a: { type: k8s:Service, capabilities: { metadata: { properties: { labels: { v: 1.10 } } } } } } }",
      ),
      "properties.labels.v must be a text (in quotes), got 1.1",
    ],
  ])("with %s is refused", async (_, text, message) => {
    expect(await failureOf(text)).toContain(message);
  });

  it("says all mistakes at once, from the top, and none that only follows from another", async () => {
    const text = template(`topology_template:
  inputs:
    replicas: { type: integer, default: many }
  node_templates:
    web:
      type: k8s:Service
      capabilities:
        metadata: { properties: { name: Web, colour: red } }
        deployment: { properties: { replicas: { get_input: replicas } } }
      requirements:
      - route: { node: store, relationship: HTTPRoute }
      - route: { node: cache, relationship: { type: HTTPRoute, properties: { priority: high, maxNetworkCost: 1.5 } } }
      - route: { node: queue, relationship: FaxRoute }
      - rout: { node: queue }
    store: { type: k8s:Servise }
    cache: { type: k8s:Service }
    queue: { type: k8s:Service }
`);
    expect((await failureOf(text)).split("\n")).toEqual([
      'main.yaml:5:41: topology_template.inputs.replicas.default must be a whole number, got "many"',
      'main.yaml:10:41: topology_template.node_templates.web.capabilities.metadata.properties.name must be called by a name that Kubernetes takes (a-z, 0-9, -, at most 63 characters), got "Web"',
      expect.stringMatching(/^main\.yaml:10:54: .*\.colour must be one of the properties that the type has/),
      expect.stringMatching(/^main\.yaml:14:88: .*\.priority must be a number, got "high"/),
      expect.stringMatching(/^main\.yaml:14:110: .*\.maxNetworkCost must be a whole number, got 1\.5/),
      expect.stringMatching(/^main\.yaml:15:45: .*\.relationship must name one of the relationship_types/),
      expect.stringMatching(/^main\.yaml:16:15: .*\.rout must be a requirement of Service/),
      expect.stringMatching(
        /^main\.yaml:17:20: .*\.store\.type must name one of the node_types \(k8s:Service\)/,
      ),
    ]);
  });

  it("says all imports that can't be read, and stops there", async () => {
    const text = pair("b").replace("imports: [", "imports: [ a.yaml, b.yaml,");
    expect((await failureOf(text, { "a.yaml": "a: b: c", "b.yaml": "[" })).split("\n")).toEqual([
      expect.stringMatching(/^a\.yaml:1:4: must be YAML or JSON/),
      expect.stringMatching(/^b\.yaml:1:2: must be YAML or JSON/),
    ]);
  });

  it("stops at 50 mistakes", async () => {
    const many = Array.from({ length: 200 }, (_, index) => `    n${index}: { type: T${index} }`).join("\n");
    const text = template(`topology_template:\n  node_templates:\n${many}\n`);
    expect((await failureOf(text)).split("\n")).toHaveLength(50);
    const own = pair("b").replace(
      "      - route: b",
      Array.from({ length: 200 }, (_, index) => `      - r${index}: b`).join("\n"),
    );
    expect((await failureOf(own)).split("\n")).toHaveLength(50);
  });

  it("says how something becomes a Service", async () => {
    const hint =
      'import { file: "internal:/tosca/kubernetes/1.0/profile.yaml", namespace_prefix: k8s }, and declare your own as node_types: { Web: { derived_from: k8s:Service } }';
    const own =
      "node_types: { Web: { derived_from: tosca.nodes.Root } }\ntopology_template: { node_templates: { web: { type: Web } } }";
    expect(await failureOf(template(own))).toContain(hint);
    const bare =
      "tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template: { node_templates: { web: { type: Web } } }";
    const message = await failureOf(bare);
    expect(message).toContain(hint);
    expect(message).toContain("left out: web (Web)");
    const right = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ { file: "internal:/tosca/kubernetes/1.0/profile.yaml", namespace_prefix: k8s } ]
node_types: { Web: { derived_from: k8s:Service } }
topology_template: { node_templates: { web: { type: Web } } }`;
    expect((await readText(right)).services.map(({ name }) => name)).toEqual(["web"]);
  });

  it("refuses too many files", async () => {
    const importing = (file: string): string =>
      `tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [ ${file} ]\n`;
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`f${index}.yaml`, importing(`f${index + 1}.yaml`)]),
    );
    expect(await failureOf(importing("f0.yaml"), many)).toContain(
      "must not bring more than 64 files, got more",
    );
  });

  it("refuses inputs that the template doesn't take, and values of the wrong kind", async () => {
    const text = template(
      "topology_template: { inputs: { n: { type: integer, default: 1, constraints: [ { in_range: [ 1, 5 ] } ] } }, node_templates: { a: { type: k8s:Service } } }",
    );
    const given = (name: string, value: string) => failureOf(text, {}, { inputs: new Map([[name, value]]) });
    expect(await given("m", "1")).toContain("must declare the input m that is given; declared: n");
    expect(await given("n", "x")).toBe('--input: n must be a whole number, got "x"');
    expect(await given("n", "9")).toBe("--input: n must be in range [1,5], got 9");
    expect(await given("n", "[")).toContain("--input: n must be YAML");
    expect(await given("n", "3")).toBe("nothing failed");
  });
});
