import { describe, expect, test } from "vitest";
import { DumpError } from "./errors.ts";
import { scoreDump } from "./score-dump.ts";

// p uses 500 m and 200 MB; q runs on n2, r on n3; p exchanges 1,000 B/s with q, and r 500 B/s with p.
// cpu % = 300, 100, 0; memory % = 400, 200, 0; network = -(10 x 1000 + 40 x 500), -(25 x 500), -(25 x 1000).
const node = (
  name: string,
  cpu: string,
  memory: string,
  costs: string,
  prefix = "isochrone.dev/",
): string => `
- apiVersion: v1
  kind: Node
  metadata:
    name: ${name}
    annotations:
      ${prefix}available-cpu: "${cpu}"
      ${prefix}available-memory: "${memory}"
${costs
  .split(" ")
  .map((cost) => `      ${prefix}network-cost-${cost.replace("=", ': "')}"`)
  .join("\n")}
`;
const deployment = (name: string, annotations: string): string => `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: ${name}, namespace: shop, annotations: {${annotations}}}
  spec: {selector: {matchLabels: {app: ${name}}}}
`;
const pod = (name: string, app: string, on: string): string => `
- apiVersion: v1
  kind: Pod
  metadata: {name: ${name}, namespace: shop, labels: {app: ${app}}}
  spec: {nodeName: ${on}, containers: [{name: main}]}
`;

function dump(prefix = "isochrone.dev/", extra = ""): string {
  return [
    "apiVersion: v1\nkind: List\nitems:",
    node("n1", "2", "1G", "n2=10 n3=40", prefix),
    node("n2", "1000m", "600M", "n1=10 n3=25", prefix),
    node("n3", "500m", "200M", "n1=40 n2=25", prefix),
    deployment("p", `${prefix}cpu-usage: 500m, ${prefix}memory-usage: 200M, ${prefix}traffic-q: "1k"`),
    deployment("q", `${prefix}cpu-usage: "0.1"`),
    deployment("r", `${prefix}traffic-p: 500`),
    pod("q-1", "q", "n2"),
    pod("r-1", "r", "n3"),
    extra,
  ].join("");
}

const podText =
  "{kind: Pod, apiVersion: v1, metadata: {name: p-1, namespace: shop, labels: {app: p}}, spec: {}}";
const run = (dumpText: string, more: object = {}): ReturnType<typeof scoreDump> =>
  scoreDump({ dumpText, dumpFile: "dump.yaml", podText, strategy: "resource-network", mode: "raw", ...more });
const failure = (dumpText: string, more: object = {}): string => {
  try {
    run(dumpText, more);
  } catch (error) {
    if (error instanceof DumpError) return error.message;
    throw error;
  }
  return "no error";
};

describe("a dump worked by hand", () => {
  test("gives the paper's sum for every node, in raw mode", () => {
    const scores = run(dump());
    expect(scores).toMatchObject({
      pod: "p-1",
      namespace: "shop",
      strategy: "resource-network",
      mode: "raw",
    });
    expect(scores.nodes.map(({ name, raw, feasible }) => ({ name, raw, feasible }))).toEqual([
      { name: "n1", raw: -14_825, feasible: true },
      { name: "n2", raw: -6_175, feasible: true },
      { name: "n3", raw: -12_500, feasible: true },
    ]);
    expect(scores.nodes[0]!.parts).toEqual({ cpu: 300, memory: 400, resource: 350, network: -30_000 });
  });

  test("gives 0 to 100 per node in normalized mode, with the weights asked for", () => {
    const { nodes } = run(dump(), { mode: "normalized", settings: { gamma: 0, delta: 1 } });
    expect(nodes.map(({ score }) => Number(score.toFixed(4)))).toEqual([0, 100, 28.5714]);
  });

  test("may use the bare annotation names of the paper, found without being told or by an empty prefix", () => {
    expect(run(dump("")).nodes).toEqual(run(dump()).nodes);
    expect(run(dump(""), { annotationPrefix: "" }).nodes).toEqual(run(dump()).nodes);
  });

  test("is read under the configured prefix alone", () => {
    expect(run(dump(), { annotationPrefix: "acme.example/" }).nodes[0]!.raw).toBeNull();
  });

  test("may be JSON, and several documents", async () => {
    const { parse, stringify } = await import("yaml");
    const list = parse(dump()) as { items: object[] };
    expect(run(JSON.stringify(list)).nodes).toEqual(run(dump()).nodes);
    expect(run(list.items.map((item) => stringify(item)).join("\n---\n")).nodes).toEqual(run(dump()).nodes);
  });

  test("scores a pod of the dump by its name, leaving the pod's own place out", () => {
    const text = dump("isochrone.dev/", pod("p-1", "p", "n1"));
    expect(run(text, { podText: undefined, podName: "shop/p-1" }).nodes).toEqual(run(dump()).nodes);
    expect(run(text, { podText: undefined, podName: "p-1" }).nodes).toEqual(run(dump()).nodes);
  });

  test.each([
    ["less", "900"],
    ["the same", "1k"],
  ])("counts a pair's traffic once when the other end states %s", (_, amount) => {
    const text = dump().replace('cpu-usage: "0.1"', `cpu-usage: "0.1", isochrone.dev/traffic-p: ${amount}`);
    expect(text).toContain(`traffic-p: ${amount}`);
    expect(run(text).nodes).toEqual(run(dump()).nodes);
  });

  test("counts the larger amount when the ends of a pair differ, whichever states it", () => {
    const text = dump().replace('cpu-usage: "0.1"', 'cpu-usage: "0.1", isochrone.dev/traffic-p: 2k');
    // n1: 10 x 2000 + 40 x 500; n2: 25 x 500; n3: 25 x 2000.
    expect(run(text).nodes.map(({ parts }) => parts["network"])).toEqual([-40_000, -12_500, -50_000]);
  });

  test("gives the same raw scores whichever Deployment comes first, where costs are asymmetric", () => {
    const head = "apiVersion: v1\nkind: List\nitems:";
    const nodes = [node("n1", "2", "1G", "n2=10"), node("n2", "2", "1G", "n1=30")];
    const p = deployment("p", 'isochrone.dev/cpu-usage: 500m, isochrone.dev/traffic-q: "1k"');
    const q = deployment("q", 'isochrone.dev/traffic-p: "1k"');
    const scores = [
      [p, q],
      [q, p],
    ].map((order) =>
      run([head, ...nodes, ...order, pod("q-1", "q", "n2")].join("")).nodes.map(
        ({ parts }) => parts["network"],
      ),
    );
    expect(scores).toEqual([
      [-10_000, 0],
      [-10_000, 0],
    ]);
  });

  test("finds the workload through ReplicaSet and Deployment, or by the ReplicaSet's name alone", () => {
    const owned = (labels: string): string =>
      `{kind: Pod, metadata: {name: p-9, namespace: shop, ${labels} ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: p-5d4f, uid: u, controller: true}]}}`;
    expect(run(dump(), { podText: owned("") }).nodes).toEqual(run(dump()).nodes);
  });
});

describe("what makes a node infeasible", () => {
  const withNode = (fields: string): string =>
    dump(
      "isochrone.dev/",
      `\n- {kind: Node, apiVersion: v1, metadata: {name: n4, labels: {disk: hdd}}, ${fields}}\n`,
    );

  test.each([
    ["spec: {unschedulable: true}", "the node is cordoned"],
    ['status: {conditions: [{type: Ready, status: "False"}]}', "the node is not ready"],
    ["spec: {taints: [{key: gpu, effect: NoSchedule}]}", "the pod doesn't tolerate the taint gpu:NoSchedule"],
  ])("%s: %s", (fields, reason) => {
    expect(run(withNode(fields)).nodes[3]).toMatchObject({ name: "n4", feasible: false, reason, score: 0 });
  });

  test("a request that doesn't fit, a selector that doesn't match", () => {
    const spec = (more: string): string =>
      `{kind: Pod, metadata: {name: p-1, namespace: shop, labels: {app: p}}, spec: {${more}}}`;
    const text = withNode("status: {allocatable: {cpu: 1, memory: 1Gi}}");
    const wants = spec("containers: [{resources: {requests: {cpu: 1500m}}}]");
    expect(run(text, { podText: wants }).nodes[3]!.reason).toBe("its CPU request doesn't fit");
    expect(run(text, { podText: spec("nodeSelector: {disk: ssd}") }).nodes[3]!.reason).toContain("disk=ssd");
    expect(run(text, { podText: spec("nodeSelector: {disk: hdd}") }).nodes[3]!.feasible).toBe(true);
  });

  // q-1 (label app: q) is on n2, r-1 (app: r) on n3; n4 has room for one pod and holds it.
  test.each([
    [
      "required node affinity",
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}",
      ["n1", "n2", "n3", "n4"],
      "node(s) didn't match Pod's node affinity/selector",
    ],
    [
      "required anti-affinity",
      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: q}}, topologyKey: kubernetes.io/hostname}]}}",
      ["n2", "n4"],
      "node(s) didn't match pod anti-affinity rules",
    ],
    [
      "spread over nodes",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: app, operator: In, values: [p, q]}]}}]",
      ["n2", "n4"],
      "node(s) didn't match pod topology spread constraints",
    ],
    [
      "a host port that is taken",
      "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]",
      ["n3", "n4"],
      "node(s) didn't have free ports for the requested pod ports",
    ],
    ["nothing", "containers: [{name: c}]", ["n4"], "the node is full: it takes no more pods"],
  ])("%s", (_, spec, infeasible, reason) => {
    const host = (name: string): string => `kubernetes.io/hostname: ${name}`;
    const full = `
- {kind: Node, apiVersion: v1, metadata: {name: n4, labels: {${host("n4")}}}, status: {allocatable: {pods: 1}}}
- {kind: Pod, apiVersion: v1, metadata: {name: q-9, namespace: shop, labels: {app: q}}, spec: {nodeName: n4, containers: [{name: c}]}}
`;
    const named = ["n1", "n2", "n3"].reduce(
      (text, name) => text.replace(`name: ${name}\n`, `name: ${name}\n    labels: {${host(name)}}\n`),
      dump("isochrone.dev/", full),
    );
    const text = named.replace(
      "nodeName: n3, containers: [{name: main}]",
      "nodeName: n3, containers: [{name: main, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]",
    );
    const podText = `{kind: Pod, metadata: {name: p-1, namespace: shop, labels: {app: p}}, spec: {${spec}}}`;
    const { nodes } = run(text, { podText });
    expect(nodes.filter(({ feasible }) => !feasible).map(({ name }) => name)).toEqual(infeasible);
    expect(nodes.find(({ name }) => name === infeasible[0])!.reason).toBe(reason);
  });

  test("says what it can't judge, and judges the rest", () => {
    const podText =
      "{kind: Pod, metadata: {name: p-1, namespace: shop, labels: {app: p}}, spec: {nodeSelector: {disk: hdd}, volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}";
    const { nodes, explanation } = run(withNode("spec: {}"), { podText });
    expect(nodes.map(({ feasible }) => feasible)).toEqual([false, false, false, true]);
    expect(explanation.join("\n")).toMatch(/nodes may be shown as feasible that are not: .*data/);
  });

  test("an AppGroup's maxNetworkCost", () => {
    const group = `
- apiVersion: appgroup.diktyo.x-k8s.io/v1alpha1
  kind: AppGroup
  metadata: {name: g, namespace: shop}
  spec: {workloads: [{workload: {name: p}, dependencies: [{workload: {name: q}, maxNetworkCost: 20}]}]}
`;
    const { nodes } = run(dump("isochrone.dev/", group));
    expect(nodes.map(({ feasible }) => feasible)).toEqual([true, true, false]);
    expect(nodes[2]!.reason).toContain(
      "maxNetworkCost of channel p -> q is 20, the network cost from n3 is 25.000",
    );
  });
});

test.each([
  ["of another namespace's workload", "{name: p, namespace: shop}", "{name: q, namespace: shop}", "evil"],
  ["to a workload of another namespace", "{name: p}", "{name: q, namespace: other}", "shop"],
  ["that names a source elsewhere", "{name: p, namespace: other}", "{name: q}", "shop"],
])("an AppGroup's demand of a channel %s rejects none of the pod's nodes", (_, source, target, namespace) => {
  const group = `
- apiVersion: appgroup.diktyo.x-k8s.io/v1alpha1
  kind: AppGroup
  metadata: {name: g, namespace: ${namespace}}
  spec: {workloads: [{workload: ${source}, dependencies: [{workload: ${target}, maxNetworkCost: 0}]}]}
`;
  expect(run(dump("isochrone.dev/", group)).nodes).toEqual(run(dump("isochrone.dev/")).nodes);
});

test("a NetworkTopology gives costs between zones where no node carries any", () => {
  const zoned = (name: string, zone: string): string =>
    `{kind: Node, metadata: {name: ${name}, labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: ${zone}}}}`;
  const text = `
kind: List
items:
- ${zoned("n1", "z1")}
- ${zoned("n2", "z2")}
- ${zoned("n3", "z2")}
- {kind: Deployment, metadata: {name: p, namespace: shop, annotations: {traffic-q: 10}}}
- {kind: Deployment, metadata: {name: q, namespace: shop}}
- {kind: Pod, metadata: {name: q-1, namespace: shop, labels: {app: q}}, spec: {nodeName: n2}}
- kind: NetworkTopology
  metadata: {name: nt-default}
  spec:
    weights:
    - name: UserDefined
      topologyList:
      - topologyKey: topology.kubernetes.io/zone
        originList:
        - {origin: z1, costList: [{destination: z2, networkCost: 5}]}
`;
  expect(run(text).nodes.map(({ parts }) => parts["network"])).toEqual([-50, 0, -10]);
});

test("hashed node names are mapped back, and their map is no cost", () => {
  const text = dump().replace(
    'network-cost-n2: "10"',
    `network-cost-h1: "10"\n      isochrone.dev/network-cost-names: '{"h1":"n2"}'`,
  );
  expect(run(text).nodes).toEqual(run(dump()).nodes);
});

describe("a malformed dump is refused with file, document, line, rule and value", () => {
  test.each([
    ["broken YAML", "kind: List\nitems: [", /^dump\.yaml, document 1, line 2: must be YAML or JSON/],
    ["broken JSON", '{"kind": "List", "items": [}', /^dump\.yaml, document 1, line 1: must be YAML or JSON/],
    [
      "no object",
      "--- 5",
      /^dump\.yaml, document 1, line 1: the document must be a Kubernetes object, got 5/,
    ],
    ["no kind", "metadata: {name: a}", /document 1, line 1: kind must be text, got nothing/],
    [
      "a second document without a name",
      "kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {}",
      /document 2, line 5: metadata\.name must be text, got nothing/,
    ],
    ["items that are no list", "kind: List\nitems: 7", /document 1, line 2: items must be a list, got 7/],
    [
      "nodes twice",
      "kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata:\n  name: a",
      /document 2, line 6: Node a: metadata\.name must be unique.* got "a"/,
    ],
    ["no node", "kind: Pod\nmetadata: {name: a}", /^dump\.yaml: must hold at least one Node, got none/],
  ])("%s", (_, text, message) => {
    expect(failure(text)).toMatch(message);
  });

  test("a quantity that is none, in YAML and in JSON", async () => {
    const broken = dump().replace('network-cost-n3: "25"', 'network-cost-n3: "far"');
    const line = broken.split("\n").findIndex((text) => text.includes('"far"')) + 1;
    const rule = `Node n2: metadata.annotations.isochrone.dev/network-cost-n3 must be a quantity of at least 0, got "far"`;
    expect(failure(broken)).toBe(`dump.yaml, document 1, line ${line}: ${rule}`);
    const { parse } = await import("yaml");
    expect(failure(JSON.stringify(parse(broken), null, 1))).toMatch(
      /^dump\.yaml, document 1, line \d+: Node n2: /,
    );
  });

  test("a negative traffic", () => {
    expect(failure(dump().replace('traffic-q: "1k"', "traffic-q: -4"))).toMatch(
      /traffic-q must be a quantity of at least 0, got -4/,
    );
  });

  test("aliases that multiply beyond measure", () => {
    const bomb = `a: &a [1,2,3,4,5,6,7,8,9]\n${"bcdefg"
      .split("")
      .map((key, index) => `${key}: &${key} [${Array(9).fill(`*${"abcdef"[index]}`).join(",")}]`)
      .join("\n")}`;
    expect(failure(bomb)).toMatch(/can't be read: .*alias/i);
  });

  test("a pod that isn't there, is ambiguous, or is no pod", () => {
    expect(failure(dump(), { podText: undefined, podName: "ghost" })).toBe("dump.yaml: holds no pod ghost");
    const twice = dump("isochrone.dev/", "\n- {kind: Pod, metadata: {name: q-1, namespace: other}}\n");
    expect(failure(twice, { podText: undefined, podName: "q-1" })).toContain(
      "holds 2 pods q-1 (shop, other)",
    );
    expect(failure(dump(), { podText: "{kind: Node, metadata: {name: x}}", podFile: "pod.yaml" })).toBe(
      'pod.yaml, document 1, line 1: Node x: kind must be Pod, got "Node"',
    );
  });
});

describe("a dump with coordinates alone, as of a cluster of more than 64 nodes", () => {
  // n1 is 11 ms from q's node, n2 is q's node, n3 is 31 ms away; p sends q 1,000 B/s.
  const place = (name: string, zone: string, x: number): string => `
- apiVersion: v1
  kind: Node
  metadata:
    name: ${name}
    labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: ${zone}}
    annotations: {isochrone.dev/network-coordinate: "[${x},0.5]"}
`;
  const group = `
- apiVersion: appgroup.diktyo.x-k8s.io/v1alpha1
  kind: AppGroup
  metadata: {name: g, namespace: shop}
  spec: {workloads: [{workload: {name: p}, dependencies: [{workload: {name: q}, maxNetworkCost: 50}]}]}
`;
  const text = [
    "apiVersion: v1\nkind: List\nitems:",
    place("n1", "near", 10),
    place("n2", "here", 0),
    place("n3", "far", 30),
    deployment("p", 'isochrone.dev/traffic-q: "1k"'),
    deployment("q", ""),
    pod("q-1", "q", "n2"),
    group,
  ].join("");

  test("is scored by the estimates: 1,000 B/s times 11, 0 and 31 ms", () => {
    expect(run(text).nodes.map(({ raw }) => raw)).toEqual([-5_500, 0, -15_500]);
  });

  test.each([
    ["resource-network", "normalized"],
    ["communication-affinity", "normalized"],
    ["network-overhead", "strict"],
    ["network-overhead", "upstream"],
  ])("makes %s (%s) prefer the near node", (strategy, mode) => {
    const score = Object.fromEntries(run(text, { strategy, mode }).nodes.map((one) => [one.name, one.score]));
    expect(score["n2"]).toBeGreaterThan(score["n1"]!);
    expect(score["n1"]).toBeGreaterThan(score["n3"]!);
  });
});
