import { join } from "node:path";
import { WorkflowGraph } from "@isochrone/topology";
import { describe, expect, it } from "vitest";
import { readTosca } from "./read.ts";
import { pair, readText, routesOf, template } from "./testing/texts.ts";
import { workflowGraphOf } from "./workflow-graph.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** [001], figure 4, with the priorities of figure 1. */
const MESSAGING = [
  "api-gateway -> message-notifier: HTTPServerPushRoute 10",
  "api-gateway -> message-publisher: HTTPRoute 100",
  "api-gateway -> message-reader: HTTPRoute 100",
  "message-notifier -> rabbitmq: AMQPRoute 5",
  "message-publisher -> rabbitmq: AMQPRoute 5",
  "message-reader -> mongodb: SynchronousRoute 25",
  "message-reader -> rabbitmq: AMQPRoute 5",
];

const priorityOf = async (text: string): Promise<unknown> => {
  const { channels } = await readText(text);
  return channels.map(({ relationshipType, priority }) => [relationshipType, priority]);
};

describe("a service template", () => {
  it.each([
    "test/data/tosca/messaging.yaml",
    "test/data/tosca/messaging.clout.json",
    "test/data/tosca/messaging.clout.yaml",
    "test/data/tosca/messaging.coerced.clout.yaml",
    "docs/examples/messaging.yaml",
  ])("of the messaging application gives its channels: %s", async (file) => {
    const application = await readTosca(join(ROOT, file));
    expect(application).toMatchObject({ name: "messaging", namespace: "default", notes: [] });
    expect(routesOf(application)).toEqual(MESSAGING);
    const graph = WorkflowGraph.fromJson(workflowGraphOf(application, "2026-11-22T00:00:00Z"));
    expect([...graph.peersOf("rabbitmq")].sort()).toEqual([
      "message-notifier",
      "message-publisher",
      "message-reader",
    ]);
  });

  it.each([
    ["two-services.yaml", 1],
    ["two-services.clout.json", 0],
  ])("of newer Puccinis is read: %s", async (file, notes) => {
    const application = await readTosca(join(ROOT, "test/data/tosca", file));
    expect(routesOf(application)).toEqual(["frontend -> backend: PriorityRoute 25"]);
    expect(application.notes).toHaveLength(notes);
  });

  it("takes a priority from the relationship, its type, the type above it, and [001]'s table, in this order", async () => {
    const types = `relationship_types:
  MQTTRoute: { derived_from: AsynchronousRoute, properties: { priority: { type: integer, default: 7 } } }
  RetainedRoute: { derived_from: MQTTRoute }
  PlainRoute: { derived_from: k8s:Route }
  AMQPRoute: { derived_from: k8s:Route }
`;
    expect(
      await priorityOf(
        pair("{ node: b, relationship: { type: MQTTRoute, properties: { priority: 3 } } }", types),
      ),
    ).toEqual([["MQTTRoute", 3]]);
    expect(await priorityOf(pair("{ node: b, relationship: MQTTRoute }", types))).toEqual([["MQTTRoute", 7]]);
    expect(await priorityOf(pair("{ node: b, relationship: RetainedRoute }", types))).toEqual([
      ["RetainedRoute", 7],
    ]);
    // An own type overrides an imported one of the same name; its priority is only in the table.
    expect(await priorityOf(pair("{ node: b, relationship: AMQPRoute }", types))).toEqual([["AMQPRoute", 5]]);
    expect(await priorityOf(pair("{ node: b, relationship: PlainRoute }", types))).toEqual([
      ["PlainRoute", null],
    ]);
    expect(await priorityOf(pair("b", types))).toEqual([["Route", null]]);
  });

  it("takes relationship templates, needs, and several routes of one pair as one", async () => {
    const application = await readText(
      template(`topology_template:
  relationship_templates:
    bulk: { type: AMQPRoute, properties: { minBandwidth: 10 Mbps, maxNetworkCost: 30 } }
  node_templates:
    a:
      type: k8s:Service
      requirements:
      - route: { node: b, relationship: bulk }
      - route: { node: b, relationship: { type: HTTPRoute, properties: { minBandwidth: 5M, maxNetworkCost: 50 } } }
    b: { type: k8s:Service }
`),
    );
    expect(application.channels).toMatchObject([
      {
        relationshipType: "HTTPRoute",
        priority: 100,
        maxNetworkCost: 30,
        minBandwidthBitsPerSecond: 15_000_000,
      },
    ]);
    expect(application.notes).toEqual([
      "a -> b: 2 routes are one channel, by the HTTPRoute of the highest priority",
    ]);
  });

  it("works out inputs and properties", async () => {
    const text = template(`node_types:
  Shop:
    derived_from: k8s:Service
    properties:
      name: { type: string }
      version: { type: string, default: v1 }
    capabilities:
      metadata:
        properties:
          name: { default: { get_property: [ SELF, name ] } }
      deployment:
        properties:
          template:
            default:
              containers:
              - { name: main, image: { concat: [ shop/, { get_property: [ SELF, name ] }, ":", { get_property: [ SELF, version ] } ] } }
    requirements:
    - store: { capability: k8s:Service, node: Store, relationship: HTTPRoute, occurrences: [ 0, UNBOUNDED ] }
  Store: { derived_from: Shop, properties: { name: { default: store } } }
  Page:
    derived_from: Shop
    requirements:
    - data: { capability: k8s:Service, node: Store, relationship: gRPCRoute }
topology_template:
  inputs:
    page: { type: string, default: page }
    priority: { type: float }
    limits: { type: map, default: { cost: [ 10, 20 ] } }
  node_templates:
    store: { type: Store }
    front:
      type: Page
      properties: { name: { get_input: page } }
      requirements:
      - store:
          node: store
          relationship:
            type: HTTPRoute
            properties: { priority: { get_input: priority }, maxNetworkCost: { get_input: [ limits, cost, 1 ] } }
    other: { type: Page, properties: { name: { join: [ [ { get_property: [ front, name ] }, "2" ], "-" ] } } }
`);
    const application = await readText(
      text,
      {},
      {
        inputs: new Map([
          ["priority", "60"],
          ["page", "7"],
        ]),
      },
    );
    expect(application.services.map(({ name }) => name)).toEqual(["store", "7", "7-2"]);
    expect(
      application.channels.map(({ priority, maxNetworkCost, relationshipType, target }) => [
        target.name,
        relationshipType,
        priority,
        maxNetworkCost,
      ]),
    ).toEqual([
      ["store", "HTTPRoute", 60, 20],
      ["store", "gRPCRoute", 50, null],
    ]);
    expect(application.services[1]!.deployment!.get("template")!.value).toEqual({
      containers: [{ name: "main", image: "shop/7:v1" }],
    });
  });

  it("of TOSCA 2.0 is read where it stays within the same", async () => {
    const application = await readText(
      `tosca_definitions_version: tosca_2_0
metadata: { template_name: My Shop }
imports: [ { profile: "dev.isochrone.routes:1.0", namespace: net }, { url: more/types.yaml } ]
service_template:
  inputs: { level: { type: float, default: 9 } }
  node_templates:
    a:
      type: net:k8s:Service
      capabilities: { metadata: { properties: { name: shop-a, labels: { $$weird: x } } } }
      requirements:
      - route: { node: b, relationship: { type: Own, properties: { priority: { $get_input: [ level ] } } } }
    b: { type: net:k8s:Service, capabilities: { metadata: { properties: { name: { $concat: [ { $get_property: [ a, CAPABILITY, metadata, name ] }, -b ] } } } } }
`,
      {
        "more/types.yaml": `tosca_definitions_version: tosca_2_0
imports: [ { profile: "dev.isochrone.routes:1.0" } ]
relationship_types: { Own: { derived_from: HTTPRoute } }
`,
      },
    );
    expect(application.name).toBe("my-shop");
    expect(application.services[0]!.labels).toEqual({ $weird: "x" });
    expect(routesOf(application)).toEqual(["shop-a -> shop-a-b: Own 9"]);
  });

  it("reads each file once, however often it is imported", async () => {
    const others = {
      "a.yaml": `tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [ c.yaml ]`,
      "b.yaml": `tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [ c.yaml ]`,
      "c.yaml": template(`relationship_types: { Mine: { derived_from: HTTPRoute } }`),
    };
    const text = pair("{ node: b, relationship: Mine }").replace("imports: [", "imports: [ a.yaml, b.yaml,");
    expect(routesOf(await readText(text, others))).toEqual(["a -> b: Mine 100"]);
  });

  it("notes what it leaves out", async () => {
    const { notes, services } = await readText(
      template(`topology_template:
  groups: { g: { type: tosca.groups.Root, members: [ a ] } }
  node_templates:
    host: { type: tosca.nodes.Compute }
    a:
      type: k8s:Service
      requirements: [ { route: host } ]
`),
    );
    expect(services.map(({ name }) => name)).toEqual(["a"]);
    expect(notes).toEqual([
      "groups of the template are not read",
      "no services by their types, left out: host (tosca.nodes.Compute)",
      "a -> host: no channel, host is no Service",
    ]);
  });
});
