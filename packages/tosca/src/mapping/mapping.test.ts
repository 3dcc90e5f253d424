import { describe, expect, it } from "vitest";
import { TypeNames } from "./mapping.ts";
import { failureOf, readText, routesOf, topology } from "../testing/texts.ts";

const TYPES = `relationship_types: { own.Calls: {}, own.Fast: { derived_from: own.Calls } }
capability_types: { own.Api: {}, own.Rest: { derived_from: own.Api } }
node_types:
  own.Part: { requirements: [ a: { capability: own.Rest, occurrences: [ 0, 9 ] }, c: { relationship: own.Fast, occurrences: [ 0, 9 ] }, n: { occurrences: [ 0, 9 ] } ] }
  own.Thing: { derived_from: own.Part }
  own.Library: { derived_from: own.Thing }`;
const BODY =
  "x: { type: own.Thing, requirements: [ a: y, c: z, n: l ] }, y: { type: own.Part }, z: { type: own.Thing }, l: { type: own.Library }";

async function read(mapping: string): Promise<{ names: string[]; routes: string[] }> {
  const files = { "map.yaml": mapping };
  const application = await readText(topology(BODY, TYPES), files, { mapping: "map.yaml" });
  return { names: application.services.map(({ name }) => name), routes: routesOf(application) };
}

describe("a mapping file", () => {
  it.each([
    ["services: [ own.Part ]", ["x", "y", "z", "l"], []],
    ["services: [ Part ]\nothers: [ own.Library ]", ["x", "y", "z"], []],
    ["services: [ own.Thing ]", ["x", "z", "l"], []],
    [
      'services: [ "own.*" ]\nchannels: { relationships: [ own.Calls ] }',
      ["x", "y", "z", "l"],
      ["x -> z: own.Fast null"],
    ],
    [
      "services: [ own.Part ]\nchannels: { relationships: { own.Calls: HTTPRoute }, capabilities: { Api: gRPCRoute } }",
      ["x", "y", "z", "l"],
      ["x -> y: gRPCRoute 50", "x -> z: Fast 100"],
    ],
    [
      "services: [ own.Part ]\nchannels: { requirements: [ n ] }",
      ["x", "y", "z", "l"],
      ["x -> l: Route null"],
    ],
    // Without services, channels alone determine the services.
    ["channels: { capabilities: [ own.Api ] }", ["x", "y"], ["x -> y: Route null"]],
  ])(
    "says what is a service and what is a channel, derived types included: %s",
    async (text, names, routes) => {
      const found = await read(text);
      expect(found.names).toEqual(names);
      expect(found.routes).toEqual(routes.map((route) => route.replace("own.Fast", "Fast")));
    },
  );

  it("names types as the template does, and by their profiles", async () => {
    const types =
      "tosca_definitions_version: tosca_2_0\nprofile: shop.types:1.0\nnode_types: { App: { requirements: [ x: { count_range: [ 0, 9 ] } ] } }\nrelationship_types: { Uses: {} }";
    const text = topology(
      "a: { type: t:App, requirements: [ x: { node: b, relationship: t:Uses } ] }, b: { type: t:App }",
      "imports: [ { profile: shop.types:1.0, namespace: t } ]",
      "tosca_2_0",
    );
    const routesBy = async (prefix: string, others: Readonly<Record<string, string>>): Promise<string[]> => {
      const mapping = `services: [ "${prefix}:App" ]\nchannels: { relationships: [ "${prefix}:Uses" ] }`;
      return routesOf(await readText(text, { ...others, "m.yaml": mapping }, { mapping: "m.yaml" }));
    };
    const found = await Promise.all(
      ["t", "shop.types:1.0", "shop.types"].flatMap((prefix) =>
        [{ "types.yaml": types }, {}].map((others) => routesBy(prefix, others)),
      ),
    );
    expect(found).toEqual(Array.from({ length: 6 }, () => ["a -> b: Uses null"]));
  });

  it("can do without the built-in mapping", async () => {
    const text = topology("a: { type: tosca.nodes.DBMS }, b: { type: tosca.nodes.WebServer }");
    const mapping = "builtIn: false\nservices: [ tosca.nodes.DBMS ]";
    const { services } = await readText(text, { "m.yaml": mapping }, { mapping: "m.yaml" });
    expect(services.map(({ name }) => name)).toEqual(["a"]);
  });

  it("is refused with all its mistakes", async () => {
    const failure = async (text: string): Promise<string[]> =>
      (await failureOf(topology(BODY, TYPES), { "m.yaml": text }, { mapping: "m.yaml" })).split("\n");
    expect(
      await failure(
        'builtIn: maybe\nservice: []\nservices: [ 1, "a*b" ]\nchannels: { relationships: { A: Fax }, routes: [] }\n',
      ),
    ).toEqual([
      'm.yaml:1:10: builtIn must be true or false, got "maybe"',
      'm.yaml:2:10: service must be one of services, others, channels, hosts, builtIn, got "service"',
      "m.yaml:3:13: services.0 must be a text (in quotes), got 1",
      'm.yaml:3:16: services.1 must be a name, with a * at its end alone, got "a*b"',
      expect.stringMatching(
        /^m\.yaml:4:33: channels\.relationships\.A must be one of PriorityRoute, .*, got "Fax"$/,
      ),
      'm.yaml:4:48: channels.routes must be one of relationships, capabilities, requirements, got "routes"',
    ]);
    expect(await failure("{}")).toEqual([
      "m.yaml:1:1: the document must name types under services, others, channels or hosts",
    ]);
    expect(await failure("- services")).toEqual(["m.yaml:1:1: the document must be a map, got a list of 1"]);
    expect(await failureOf(topology(BODY, TYPES), {}, { mapping: "none.yaml" })).toBe(
      "none.yaml: the file must be there",
    );
  });
});

describe("names of types", () => {
  it.each([
    ["Calls", ["own.Calls"], true],
    ["Calls", ["a:b:Calls"], true],
    ["own.Calls", ["own.Calls"], true],
    ["own.Calls", ["other.Calls"], false],
    ["own.Calls", ["my.own.Calls"], false],
    ["tosca:Node", ["tosca::Node"], true],
    ["own.*", ["own.a.B"], true],
    ["own.*", ["owner.B"], false],
  ])("%s is one of %j: %s", (entry, names, is) => {
    expect(new TypeNames([entry]).has(names)).toBe(is);
  });
});
