import {
  EGRESS_BANDWIDTH,
  KINDS,
  LABELS,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { JsonPatchOperation, KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { PROMISE_ANNOTATION } from "../planner/adapters/pod-writer.ts";
import type { AskedPod } from "../planner/promises/pod-promises.ts";
import { readReview } from "./admission-review.ts";
import { Admission } from "./admission.ts";
import type { AdmissionSurroundings } from "./admission.ts";
import type { Entry } from "./gate-rules.ts";

interface PodFields {
  readonly labels?: unknown;
  readonly annotations?: unknown;
  readonly owners?: unknown;
  readonly spec?: Record<string, unknown>;
}

const podOf = ({ labels, annotations, owners, spec = {} }: PodFields = {}): KubernetesObject =>
  ({
    ...KINDS.pod,
    metadata: { generateName: "web-", labels, annotations, ownerReferences: owners },
    spec: { containers: [{ name: "main" }], schedulerName: "default-scheduler", ...spec },
  }) as unknown as KubernetesObject;

const reviewOf = (object: unknown, request: object = {}): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "review-1", namespace: "shop", operation: "CREATE", object, ...request },
  });

interface Answered {
  readonly response: { readonly uid: string; readonly allowed: boolean; readonly warnings?: string[] };
  readonly patch: JsonPatchOperation[];
  readonly outcomes: string[];
  readonly pod: KubernetesObject;
}

function ask(
  pod: KubernetesObject,
  entry: Entry,
  around: Partial<AdmissionSurroundings> = {},
  request = {},
): Answered {
  const outcomes: string[] = [];
  const admission = new Admission({
    rules: {
      schedulerNames: new Set(["default-scheduler"]),
      excludedNamespaces: new Set(["kube-system", "isochrone"]),
    },
    isPlannerAlive: () => true,
    appGroup: () => null,
    replicasOf: () => () => 1,
    injectable: () => null,
    slices: null,
    promise: () => null,
    metrics: {
      count: (outcome) => void outcomes.push(outcome),
      fault: (reason) => void outcomes.push(`fault ${reason}`),
      bandwidth: { inc: () => void outcomes.push("bandwidth") } as never,
    },
    ...around,
  });
  const text = admission.answer(entry, reviewOf(pod, request));
  if (typeof text !== "string") throw new Error(text.detail);
  const { response } = JSON.parse(text) as { response: Answered["response"] & { patch?: string } };
  const patch =
    response.patch === undefined
      ? []
      : (JSON.parse(Buffer.from(response.patch, "base64").toString()) as JsonPatchOperation[]);
  return { response, patch, outcomes, pod: patched(pod, patch) };
}

function patched(pod: KubernetesObject, patch: readonly JsonPatchOperation[]): KubernetesObject {
  const copy = structuredClone(pod);
  for (const operation of patch) {
    if (operation.op !== "add") throw new Error(`the webhook only adds, got ${operation.op}`);
    const names = operation.path
      .slice(1)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = names.pop()!;
    const parent = names.reduce((at, name) => Reflect.get(at, name) as object, copy as object);
    if (last === "-") (parent as unknown[]).push(operation.value);
    else Reflect.set(parent, last, operation.value);
  }
  return copy;
}

const gatesOf = ({ pod }: Answered): unknown => pod.spec?.["schedulingGates"];
const answer = (said: string) => {
  return { op: "add", path: "/metadata/annotations", value: { [WEBHOOK_ANSWER]: said } };
};
const ON = { [PLACEMENT_LABEL]: "enabled" };
const OFF = { [PLACEMENT_LABEL]: "disabled" };
const group = (labels: Record<string, string>): KubernetesObject => ({
  ...KINDS.appGroup,
  metadata: { name: "a1", namespace: "shop", labels },
  spec: {
    workloads: [
      {
        workload: { selector: "web" },
        dependencies: [{ workload: { selector: "db" }, minBandwidth: "2M" }],
      },
      { workload: { selector: "db" } },
    ],
  },
});
const IN_GROUP = { [LABELS.appGroup]: "a1", [LABELS.appGroupWorkload]: "web" };

describe("a pod that the planner has nodes for", () => {
  const promised = {
    affinity: { nodeAffinity: { required: "n1" } },
    annotations: { [PROMISE_ANNOTATION]: "id-1", "isochrone.dev/planned-node": "n1" },
  };
  const own = { podAffinity: { of: "its own" } };

  test("gets them and no gate, and isn't given others when it is asked about again", () => {
    const asked: AskedPod[] = [];
    const promise = (one: AskedPod): typeof promised => {
      asked.push(one);
      return promised;
    };
    const first = ask(podOf({ labels: ON, spec: { affinity: own } }), "pod", { promise }, { dryRun: true });
    expect(first.outcomes).toEqual(["planned"]);
    expect(gatesOf(first)).toBeUndefined();
    expect(first.pod.spec?.["affinity"]).toEqual(promised.affinity);
    expect(first.pod.metadata.annotations).toEqual({ ...promised.annotations, [WEBHOOK_ANSWER]: "planned" });
    expect(asked.map(({ isDryRun, pod }) => [isDryRun, pod.metadata.namespace, pod.spec])).toEqual([
      [true, "shop", expect.objectContaining({ affinity: own })],
    ]);
    expect(ask(first.pod, "pod", { promise }).patch).toEqual([]);
    expect(ask(first.pod, "pod", { promise, isPlannerAlive: () => false }).patch).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test.each<[string, PodFields, Partial<AdmissionSurroundings>]>([
    ["while nobody plans", { labels: ON }, { isPlannerAlive: () => false }],
    ["where it asks for none", { labels: OFF }, {}],
    [
      "where it has the gate already",
      { labels: ON, spec: { schedulingGates: [{ name: PLACEMENT_GATE }] } },
      {},
    ],
  ])("gets none %s", (_, fields, around) => {
    const promise = (): never => {
      throw new Error("nobody must be asked for nodes");
    };
    expect(ask(podOf(fields), "pod", { promise, ...around }).pod.spec).toEqual(podOf(fields).spec);
  });
});

describe("who waits", () => {
  test.each<[string, PodFields, Entry, Record<string, string> | null, string]>([
    ["asked by the namespace", {}, "namespace", null, "gated"],
    ["asked by the pod", { labels: ON }, "pod", null, "gated"],
    ["asked by the AppGroup", { labels: IN_GROUP }, "app-group", ON, "gated"],
    ["a pod that says no", { labels: OFF }, "namespace", null, "not_asked"],
    ["an AppGroup that says no", { labels: IN_GROUP }, "namespace", OFF, "not_asked"],
    [
      "a pod that knows better than its AppGroup",
      { labels: { ...IN_GROUP, ...ON } },
      "app-group",
      OFF,
      "gated",
    ],
    ["an AppGroup that says nothing", { labels: IN_GROUP }, "app-group", {}, "not_asked"],
    ["an AppGroup that isn't known", { labels: IN_GROUP }, "app-group", null, "not_asked"],
    ["another word", { labels: { [PLACEMENT_LABEL]: "maybe" } }, "pod", null, "not_asked"],
    ["a pod of a DaemonSet", { owners: [{ kind: "DaemonSet" }] }, "namespace", null, "daemon_set"],
    [
      "a static pod",
      { annotations: { "kubernetes.io/config.mirror": "x" } },
      "namespace",
      null,
      "static_pod",
    ],
    ["a pod with a node", { spec: { nodeName: "n1" } }, "namespace", null, "has_node"],
    ["another scheduler", { spec: { schedulerName: "volcano" } }, "namespace", null, "other_scheduler"],
    [
      "a system priority",
      { spec: { priorityClassName: "system-cluster-critical" } },
      "namespace",
      null,
      "system_priority",
    ],
    ["one of a gang", { spec: { schedulingGroup: { podGroupName: "g" } } }, "namespace", null, "gang"],
    ["one of a gang, in 1.35", { spec: { workloadRef: { name: "g" } } }, "namespace", null, "gang"],
    [
      "one of a gang of scheduler-plugins",
      { labels: { ...ON, "scheduling.x-k8s.io/pod-group": "g" } },
      "pod",
      null,
      "gang",
    ],
    [
      "one of a gang that nobody asks to place",
      { labels: { "scheduling.x-k8s.io/pod-group": "g" } },
      "pod",
      null,
      "not_asked",
    ],
    [
      "one that waits already",
      { spec: { schedulingGates: [{ name: PLACEMENT_GATE }] } },
      "namespace",
      null,
      "already_gated",
    ],
  ])("%s", (_, fields, entry, appGroup, outcome) => {
    const around = { appGroup: () => (appGroup === null ? null : group(appGroup)) };
    const answered = ask(podOf(fields), entry, around);
    expect(answered.outcomes).toEqual([outcome]);
    expect(answered.response).toMatchObject({ uid: "review-1", allowed: true });
    const gate = { op: "add", path: "/spec/schedulingGates", value: [{ name: PLACEMENT_GATE }] };
    const isAsking = ["gated", "already_gated", "gang"].includes(outcome);
    expect(answered.patch).toEqual([
      ...(outcome === "gated" ? [gate] : []),
      ...(isAsking ? [answer(outcome)] : []),
    ]);
  });

  test("nobody of an excluded namespace", () => {
    const { outcomes, patch } = ask(podOf({ labels: ON }), "pod", {}, { namespace: "kube-system" });
    expect([outcomes, patch]).toEqual([["excluded_namespace"], []]);
  });

  test("nobody while no planner lives", () => {
    const { outcomes, patch } = ask(podOf(), "namespace", { isPlannerAlive: () => false });
    expect([outcomes, patch]).toEqual([["no_planner"], [answer("no_planner")]]);
  });

  test("asked twice, a pod is changed once", () => {
    const first = ask(podOf({ spec: { schedulingGates: [{ name: "quota.dev/x" }] } }), "namespace");
    expect(gatesOf(first)).toEqual([{ name: "quota.dev/x" }, { name: PLACEMENT_GATE }]);
    expect(ask(first.pod, "namespace").patch).toEqual([]);
  });
});

describe("the managed resource", () => {
  const RESOURCE = "isochrone.dev/placement";
  const dead = { isPlannerAlive: () => false, injectable: () => RESOURCE };
  const resourcesOf = ({ pod }: Answered): unknown =>
    (pod.spec!["containers"] as { resources?: unknown }[])[0]!.resources;

  test("is asked for by pods that can't be planned now, while the guard has seen such pods scheduled", () => {
    const answered = ask(podOf(), "namespace", dead);
    expect(answered.outcomes).toEqual(["resource"]);
    expect(resourcesOf(answered)).toEqual({ limits: { [RESOURCE]: "1" }, requests: { [RESOURCE]: "1" } });
    expect(ask(answered.pod, "namespace", dead).patch).toEqual([]);
  });

  test("stands beside what the container asks for", () => {
    const containers = [{ name: "a", resources: { requests: { cpu: "1" } } }, { name: "b" }];
    expect(resourcesOf(ask(podOf({ spec: { containers } }), "namespace", dead))).toEqual({
      limits: { [RESOURCE]: "1" },
      requests: { cpu: "1", [RESOURCE]: "1" },
    });
  });

  test("is none of a pod that waits, of one that nobody asked about, or while the guard forbids it", () => {
    expect(resourcesOf(ask(podOf(), "namespace", { injectable: () => RESOURCE }))).toBeUndefined();
    expect(ask(podOf({ labels: OFF }), "namespace", dead).patch).toEqual([]);
    const none = ask(podOf(), "namespace", { ...dead, injectable: () => null });
    expect(none.patch).toEqual([answer("no_planner")]);
  });
});

describe("bandwidth annotations", () => {
  const annotate = { "isochrone.dev/bandwidth": "annotate" };

  test("stand beside the answer, on a pod that has no annotations yet", () => {
    const pod = podOf({ labels: { ...IN_GROUP, ...ON } });
    expect(ask(pod, "pod", { appGroup: () => group(annotate) }).pod.metadata.annotations).toEqual({
      [EGRESS_BANDWIDTH]: "2000000",
      [WEBHOOK_ANSWER]: "gated",
    });
  });

  test("are written where AppGroup or pod ask, for excluded schedulers too, and count the other end's pods", () => {
    const around = { appGroup: () => group(annotate), replicasOf: () => () => 3 };
    const pod = podOf({ labels: IN_GROUP, spec: { schedulerName: "volcano" } });
    const answered = ask(pod, "app-group", around);
    expect(answered.pod.metadata.annotations).toEqual({ [EGRESS_BANDWIDTH]: "6000000" });
    expect(answered.outcomes).toEqual(["bandwidth", "other_scheduler"]);
    const byPod = podOf({ labels: IN_GROUP, annotations: annotate });
    expect(ask(byPod, "app-group", { appGroup: () => group({}) }).pod.metadata.annotations).toEqual({
      ...annotate,
      [EGRESS_BANDWIDTH]: "2000000",
    });
  });

  test("leave those of the user, and pods that say otherwise", () => {
    const own = podOf({ labels: IN_GROUP, annotations: { [EGRESS_BANDWIDTH]: "9M" } });
    expect(ask(own, "app-group", { appGroup: () => group(annotate) }).patch).toEqual([]);
    const no = podOf({ labels: { ...IN_GROUP, "isochrone.dev/bandwidth": "none" } });
    expect(ask(no, "app-group", { appGroup: () => group(annotate) }).patch).toEqual([]);
  });
});

describe("odd requests", () => {
  test.each<[string, unknown, object]>([
    ["a deletion", podOf(), { operation: "DELETE" }],
    ["a subresource", podOf(), { subResource: "eviction" }],
    ["another kind", { ...podOf(), kind: "Service" }, {}],
    ["a pod without a spec", { kind: "Pod", metadata: {} }, {}],
    ["a list", [], {}],
  ])("%s is allowed and left as it is", (_, object, request) => {
    const { response, patch, outcomes } = ask(object as KubernetesObject, "namespace", {}, request);
    expect([response.allowed, patch, outcomes]).toEqual([true, [], ["fault no_pod"]]);
    expect(response.warnings).toHaveLength(1);
  });

  test.each<[string, PodFields]>([
    ["labels", { labels: 7 }],
    ["annotations", { annotations: "x" }],
    ["owners", { owners: { kind: 5 } }],
    ["gates", { spec: { schedulingGates: "none", containers: null } }],
  ])("%s of a wrong type count as absent", (_, fields) => {
    expect(ask(podOf(fields), "namespace").outcomes).toEqual(["gated"]);
  });
});

test.each(["", '"kind":', '"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":'])(
  "a list of 5,000 levels at %s is refused by its rule",
  (before) => {
    const list = "[".repeat(5_000) + "]".repeat(5_000);
    expect(readReview(before === "" ? list : `{${before}${list}}`)).toEqual({
      fault: "not_json",
      detail: "the body must be JSON: values must be nested at most 100 levels deep, got more",
    });
  },
);
