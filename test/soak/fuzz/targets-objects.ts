// Targets in files and objects: YAML, settings, dumps, templates, reviews, annotations, custom resources.
import {
  channelsOfAnnotation,
  appGroupText,
  channelsOfAppGroup,
  DEPENDENCIES_ANNOTATION,
  readLatencies,
} from "@isochrone/aggregator/parsers";
import { DumpError, scoreDump } from "@isochrone/cli/parsers";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { parseChannels } from "@isochrone/kubernetes/basics";
import { PlacementError, workloadOrder } from "@isochrone/placement";
import { TextError, yamlValue } from "@isochrone/runtime";
import { visibleData } from "@isochrone/runtime/testing";
import {
  ExtenderArgsError,
  filterAnswer,
  isFaulty,
  readExtenderArgs,
  readReview,
} from "@isochrone/scheduler-plugin/parsers";
import { readTosca, ToscaError } from "@isochrone/tosca";
import {
  AppGroupMembers,
  readNetworkTopology,
  readNodeAnnotations,
  readWorkloadAnnotations,
} from "@isochrone/topology";
import type { Target } from "./oracle.ts";
import { jsonTarget, textTarget } from "./read-target.ts";

const SETTINGS = `bus:
  kind: kafka
  brokers: [a:9092, b:9092]
probe: { intervalMs: 1000, udp: true } # a comment
text: |
  lines
  of it
anchors: &a [1, 2]
again: *a
`;

export const yaml = textTarget({
  name: "yaml",
  iterations: 1_500,
  seeds: [SETTINGS, "- a\n- b: c\n", '{"a": [1, 2.5, null]}'],
  refusals: [TextError],
  run: (text) => ({ isTaken: yamlValue(text) !== undefined }),
});

const DUMP = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: n1
    labels: {topology.kubernetes.io/zone: z1}
    annotations:
      isochrone.dev/available-cpu: 1500m
      isochrone.dev/available-memory: 2Gi
      isochrone.dev/network-cost-n2: "12.5"
      isochrone.dev/observed-at: "2026-01-01T00:00:00Z"
  status:
    allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
    conditions: [{type: Ready, status: "True"}]
- apiVersion: v1
  kind: Node
  metadata: {name: n2}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: shop
    annotations:
      isochrone.dev/dependencies: '[{"name": "db", "priority": 5, "maxNetworkCost": 20}]'
      isochrone.dev/traffic-db: "1000"
  spec: {selector: {matchLabels: {app: web}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: web-1, namespace: shop, labels: {app: web}}
  spec:
    containers: [{name: c, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
`;

export const dump = textTarget({
  name: "dump",
  iterations: 1_000,
  seeds: [DUMP],
  refusals: [DumpError, PlacementError],
  run(dumpText) {
    const output = scoreDump({ dumpText, podName: "shop/web-1", strategy: "resource-network" });
    return { isTaken: true, output, shown: JSON.stringify(visibleData(output)) };
  },
});

const TEMPLATE = `tosca_definitions_version: tosca_2_0
metadata: { template_name: My Shop }
imports: [ { profile: "dev.isochrone.routes:1.0", namespace: net } ]
service_template:
  inputs: { level: { type: float, default: 9 } }
  node_templates:
    a:
      type: net:k8s:Service
      capabilities: { metadata: { properties: { name: shop-a, labels: { x: y } } } }
      requirements:
      - route: { node: b, relationship: { type: net:HTTPRoute, properties: { priority: { $get_input: [ level ] } } } }
    b: { type: net:k8s:Service, capabilities: { metadata: { properties: { name: { $concat: [ { $get_property: [ a, CAPABILITY, metadata, name ] }, -b ] } } } } }
`;

export const tosca = textTarget({
  name: "tosca",
  iterations: 200,
  seeds: [TEMPLATE],
  refusals: [ToscaError],
  async run(text) {
    const files = { read: (path: string) => Promise.resolve(path.endsWith("shop.yaml") ? text : null) };
    return { isTaken: true, output: await readTosca("shop.yaml", { files }) };
  },
});

const POD = {
  metadata: {
    name: "web-1",
    namespace: "shop",
    uid: "u",
    labels: { app: "web" },
    annotations: { "isochrone.dev/channels": "[]" },
  },
  spec: { containers: [{ name: "c", resources: { requests: { cpu: "100m", memory: "64Mi" } } }] },
};

export const extender = jsonTarget({
  name: "extender",
  iterations: 3_000,
  seeds: [
    { Pod: POD, NodeNames: ["n1", "n2"], Nodes: null },
    { Pod: POD, Nodes: { items: [{ metadata: { name: "n1" } }] } },
  ],
  refusals: [ExtenderArgsError],
  run(body) {
    const args = readExtenderArgs(body);
    JSON.parse(filterAnswer(args, new Map([["n1", "no"]])));
    return { isTaken: true, output: args.nodeNames };
  },
});

export const admission: Target = {
  ...textTarget({
    name: "admission",
    iterations: 3_000,
    seeds: [
      JSON.stringify({
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        request: {
          uid: "u",
          namespace: "shop",
          kind: { kind: "Pod" },
          object: { apiVersion: "v1", kind: "Pod", ...POD },
        },
      }),
    ],
    run: (text) => ({ isTaken: !isFaulty(readReview(text)) }),
  }),
};

const WORKLOAD = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "shop",
    annotations: {
      [DEPENDENCIES_ANNOTATION]: JSON.stringify([
        {
          name: "db",
          namespace: "shop",
          priority: 5,
          maxNetworkCost: 20,
          minBandwidth: "10M",
          type: "HTTPRoute",
        },
      ]),
    },
  },
};

export const dependencies: Target = textTarget({
  name: "dependencies",
  iterations: 3_000,
  seeds: [WORKLOAD.metadata.annotations[DEPENDENCIES_ANNOTATION]],
  run(text) {
    const object = {
      ...WORKLOAD,
      metadata: { ...WORKLOAD.metadata, annotations: { [DEPENDENCIES_ANNOTATION]: text } },
    };
    const output = channelsOfAnnotation(object, () => undefined);
    return { isTaken: output.length > 0, output };
  },
});

export const channels = textTarget({
  name: "channels",
  iterations: 3_000,
  seeds: [JSON.stringify([{ source: "web", target: "db", type: "HTTPRoute", priority: 5 }])],
  run(text) {
    const output = parseChannels(text, "shop");
    return { isTaken: output !== null, output };
  },
});

const APP_GROUP = {
  apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1",
  kind: "AppGroup",
  metadata: { name: "a", namespace: "shop" },
  spec: {
    numMembers: 2,
    topologySortingAlgorithm: "KahnSort",
    workloads: [
      {
        workload: {
          kind: "Deployment",
          name: "web",
          selector: "web",
          apiVersion: "apps/v1",
          namespace: "shop",
        },
        dependencies: [
          {
            workload: {
              kind: "Deployment",
              name: "db",
              selector: "db",
              apiVersion: "apps/v1",
              namespace: "shop",
            },
            minBandwidth: "10Mi",
            maxNetworkCost: 20,
          },
        ],
      },
      {
        workload: {
          kind: "Deployment",
          name: "db",
          selector: "db",
          apiVersion: "apps/v1",
          namespace: "shop",
        },
      },
    ],
  },
};

/** Matched by one of its selectors but not by the other. */
const DB_ALONE = new AppGroupMembers({
  members: [{ namespace: "shop", group: "a", selector: "db", workload: "rel-db", isBare: false }],
  groups: [],
  workloads: [],
});

export const appGroup = jsonTarget({
  name: "app-group",
  iterations: 3_000,
  seeds: [APP_GROUP],
  run(json) {
    // The API server guarantees metadata.
    const object = { ...APP_GROUP, spec: json?.spec } as unknown as KubernetesObject;
    const { order, faults } = workloadOrder(json?.spec);
    const declared = channelsOfAppGroup(
      appGroupText(object, () => undefined),
      DB_ALONE,
      () => undefined,
    );
    // Faults contain the invalid input unchanged.
    return { isTaken: declared.length > 0, output: { order, count: faults.length, declared } };
  },
});

const NETWORK_TOPOLOGY = {
  apiVersion: "networktopology.diktyo.x-k8s.io/v1alpha1",
  kind: "NetworkTopology",
  metadata: { name: "nt", namespace: "default" },
  spec: {
    weights: [
      {
        name: "UserDefined",
        topologyList: [
          {
            topologyKey: "topology.kubernetes.io/region",
            originList: [
              { origin: "r1", costList: [{ destination: "r2", networkCost: 20, bandwidthCapacity: "1Gi" }] },
            ],
          },
        ],
      },
    ],
  },
};

export const networkTopology = jsonTarget({
  name: "network-topology",
  iterations: 3_000,
  seeds: [NETWORK_TOPOLOGY],
  run(json) {
    // Faults contain the invalid input unchanged.
    const { faults, ...output } = readNetworkTopology(json);
    return { isTaken: true, output: { ...output, count: faults.length } };
  },
});

export const latencies = jsonTarget({
  name: "latencies",
  iterations: 2_000,
  seeds: [{ "netperf.p90.latency.milliseconds.origin.n1.destination.n2": "60" }],
  run(json) {
    const { pairs, faults } = readLatencies(json);
    return { isTaken: pairs.length > 0, output: { pairs, faults } };
  },
});

const NODE_ANNOTATIONS = {
  "isochrone.dev/available-cpu": "1500m",
  "isochrone.dev/available-memory": "2Gi",
  "isochrone.dev/network-cost-n2": "12.5",
  "isochrone.dev/network-coordinate": '{"v":1,"x":[1,2,3],"h":0.5,"e":0.1}',
  "isochrone.dev/observed-at": "2026-01-01T00:00:00Z",
};
const WORKLOAD_ANNOTATIONS = {
  "isochrone.dev/cpu-usage": "100m",
  "isochrone.dev/memory-usage": "64Mi",
  "isochrone.dev/traffic-db": "1000",
};

export const annotations = jsonTarget({
  name: "annotations",
  iterations: 4_000,
  seeds: [NODE_ANNOTATIONS, WORKLOAD_ANNOTATIONS],
  run(json) {
    const fields = (typeof json === "object" && json !== null ? json : {}) as Readonly<
      Record<string, unknown>
    >;
    const [{ faults: _, ...node }, { faults: __, ...workload }] = [
      readNodeAnnotations(fields),
      readWorkloadAnnotations(fields),
    ];
    return { isTaken: true, output: { node, workload } };
  },
});
