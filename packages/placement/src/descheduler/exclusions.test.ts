import { describe, expect, test } from "vitest";
import { EXCLUSION_REASONS, exclusionOf } from "./exclusions.ts";
import type { ExclusionReason, ExclusionRules, PodInContext } from "./exclusions.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const DAY_AGO = "2026-01-01T00:00:00Z";
const RULES: ExclusionRules = {
  minPodAgeMs: 600_000,
  allowLocalStorage: false,
  allowStatefulSets: false,
  allowSingleReplicas: false,
};

type Json = Record<string, unknown>;

interface Parts {
  pod?: { metadata?: Json; spec?: Json; status?: Json };
  owner?: string;
  workload?: { metadata?: Json; spec?: Json; status?: Json };
  controller?: Json;
  context?: Partial<PodInContext>;
}

function contextOf({
  pod = {},
  owner = "ReplicaSet",
  workload = {},
  controller,
  context = {},
}: Parts): PodInContext {
  const ready = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3 };
  const above = {
    kind: "Deployment",
    metadata: { name: "web", creationTimestamp: DAY_AGO, generation: 2, ...workload.metadata },
    spec: { replicas: 3, ...workload.spec },
    status: { ...ready, ...workload.status },
  };
  return {
    pod: {
      metadata: {
        name: "web-1-a",
        namespace: "shop",
        creationTimestamp: DAY_AGO,
        ownerReferences: [{ kind: owner, name: "web-1", controller: true }],
        ...pod.metadata,
      },
      spec: { containers: [{ name: "web" }], ...pod.spec },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }], ...pod.status },
    },
    controller: { kind: "ReplicaSet", metadata: { name: "web-1" }, spec: { replicas: 3, ...controller } },
    workload: above,
    replacementIsGated: true,
    claim: (key) =>
      key === "shop/data" ? { metadata: { name: "data" }, spec: { volumeName: "pv" } } : undefined,
    volume: () => ({ metadata: { name: "pv" }, spec: { nodeAffinity: { required: {} } } }),
    moveInFlight: false,
    lastMove: null,
    ...context,
  };
}

const annotated = (name: string, value: string): Parts => ({
  pod: { metadata: { annotations: { [name]: value } } },
});
const mounted = (source: Json): Parts => ({ pod: { spec: { volumes: [{ name: "data", ...source }] } } });

const CASES: readonly (readonly [reason: ExclusionReason, what: string, parts: Parts])[] = [
  ["terminating", "that is being deleted", { pod: { metadata: { deletionTimestamp: DAY_AGO } } }],
  ["static_pod", "that a kubelet mirrors", annotated("kubernetes.io/config.mirror", "abc")],
  ["static_pod", "that belongs to a Node", { owner: "Node" }],
  ["bare_pod", "without a controller", { pod: { metadata: { ownerReferences: [] } } }],
  [
    "bare_pod",
    "with an owner that is no controller",
    { pod: { metadata: { ownerReferences: [{ kind: "ReplicaSet", name: "x" }] } } },
  ],
  ["daemon_set", "of a DaemonSet", { owner: "DaemonSet" }],
  ["job", "of a Job", { owner: "Job" }],
  ["gang", "of a gang", { pod: { spec: { schedulingGroup: { podGroupName: "g" } } } }],
  ["gang", "of a group of Volcano", annotated("scheduling.k8s.io/group-name", "g")],
  ["stateful_set", "of a StatefulSet, unless allowed", { owner: "StatefulSet" }],
  ["unknown_controller", "of a kind that isn't known", { owner: "GameServer" }],
  ["unknown_controller", "whose workload isn't known yet", { context: { workload: null } }],
  [
    "system_priority",
    "of a system class",
    { pod: { spec: { priorityClassName: "system-cluster-critical" } } },
  ],
  ["system_priority", "of a system's priority", { pod: { spec: { priority: 2_000_000_000 } } }],
  ["do_not_disrupt", "that Karpenter is to leave alone", annotated("karpenter.sh/do-not-disrupt", "true")],
  [
    "not_safe_to_evict",
    "that cluster-autoscaler is to leave alone",
    annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
  ],
  ...["prefer-no-eviction", "request-evict-only", "eviction-in-progress"].flatMap((name) =>
    ["true", "false", ""].map((value): (typeof CASES)[number] => [
      "prefer_no_eviction",
      `that the Kubernetes descheduler is to leave alone: ${name}=${value}`,
      annotated(`descheduler.alpha.kubernetes.io/${name}`, value),
    ]),
  ),
  ["local_storage", "with an emptyDir", mounted({ emptyDir: {} })],
  ["local_storage", "with a hostPath", mounted({ hostPath: { path: "/x" } })],
  [
    "pinned_volume",
    "whose volume binds to a zone",
    mounted({ persistentVolumeClaim: { claimName: "data" } }),
  ],
  ["pinned_volume", "whose claim isn't bound", mounted({ persistentVolumeClaim: { claimName: "new" } })],
  ["pinned_volume", "with an ephemeral claim of its own", mounted({ ephemeral: {} })],
  ["not_opted_in", "whose replacement wouldn't wait for us", { context: { replacementIsGated: false } }],
  ["single_replica", "of a workload of one", { workload: { spec: { replicas: 1 } } }],
  ["single_replica", "of a workload that says no number", { workload: { spec: { replicas: undefined } } }],
  ["rollout", "of a workload that was changed a moment ago", { workload: { metadata: { generation: 3 } } }],
  ["rollout", "while old replicas are left", { workload: { status: { updatedReplicas: 2 } } }],
  ["rollout", "while there is one replica more", { workload: { status: { replicas: 4 } } }],
  ["rollout", "of an old ReplicaSet", { controller: { replicas: 0 } }],
  [
    "rollout",
    "while a StatefulSet changes its revision",
    { workload: { status: { currentRevision: "a", updateRevision: "b" } } },
  ],
  ["replicas_not_ready", "while another replica isn't ready", { workload: { status: { readyReplicas: 2 } } }],
  ["pod_not_ready", "that isn't ready", { pod: { status: { conditions: [] } } }],
  ["pod_not_ready", "that doesn't run", { pod: { status: { phase: "Pending" } } }],
  [
    "too_young",
    "that started a minute ago",
    { pod: { metadata: { creationTimestamp: "2026-01-01T23:59:00Z" } } },
  ],
  [
    "too_young",
    "of a workload made a minute ago",
    { workload: { metadata: { creationTimestamp: "2026-01-01T23:59:00Z" } } },
  ],
  ["too_young", "that doesn't say how old it is", { pod: { metadata: { creationTimestamp: "?" } } }],
  ["in_flight", "while another of its workload is being moved", { context: { moveInFlight: true } }],
  [
    "cool_down",
    "while its workload rests",
    { context: { lastMove: { atMs: NOW - 60_000, coolDownMs: 61_000 } } },
  ],
];

describe("a pod is left alone", () => {
  test.each(CASES)("(%s) %s", (reason, _, parts) => {
    expect(exclusionOf(contextOf(parts), RULES, NOW)).toMatchObject({ reason });
  });

  test("for every reason there is a case", () => {
    expect(new Set(CASES.map(([reason]) => reason))).toEqual(new Set(EXCLUSION_REASONS));
  });
});

describe("a pod may be moved", () => {
  test.each<[string, Parts, Partial<ExclusionRules>]>([
    ["when no rule forbids it", {}, {}],
    ["of a StatefulSet when that is allowed", { owner: "StatefulSet" }, { allowStatefulSets: true }],
    [
      "that is its workload's only one when that is allowed",
      {
        workload: { spec: { replicas: 1 }, status: { replicas: 1, updatedReplicas: 1, readyReplicas: 1 } },
        controller: { replicas: 1 },
      },
      { allowSingleReplicas: true },
    ],
    ["with local storage when that is allowed", mounted({ emptyDir: {} }), { allowLocalStorage: true }],
    [
      "whose local volumes are said to be safe",
      {
        pod: {
          metadata: {
            annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "other, data" },
          },
          spec: { volumes: [{ name: "data", emptyDir: {} }] },
        },
      },
      {},
    ],
    [
      "whose local volumes are its mesh's",
      {
        pod: {
          metadata: { annotations: { "sidecar.istio.io/status": '{"volumes":["data"]}' } },
          spec: { volumes: [{ name: "data", emptyDir: {} }] },
        },
      },
      {},
    ],
    [
      "whose volume may be mounted anywhere",
      {
        ...mounted({ persistentVolumeClaim: { claimName: "data" } }),
        context: { volume: () => ({ metadata: { name: "pv" }, spec: { nfs: {} } }) },
      },
      {},
    ],
    [
      "that its owner offers for eviction, in spite of priority and local volumes",
      {
        pod: {
          metadata: { annotations: { "descheduler.alpha.kubernetes.io/evict": "" } },
          spec: { priority: 2_000_000_000, volumes: [{ name: "data", emptyDir: {} }] },
        },
      },
      {},
    ],
    [
      "with annotations that don't keep it",
      annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"),
      {},
    ],
    ["after the cool-down", { context: { lastMove: { atMs: NOW - 60_000, coolDownMs: 60_000 } } }, {}],
  ])("%s", (_, parts, rules) => {
    expect(exclusionOf(contextOf(parts), { ...RULES, ...rules }, NOW)).toBeNull();
  });

  test("an annotation that keeps a pod wins over one that offers it, and is named", () => {
    const annotations = {
      "descheduler.alpha.kubernetes.io/evict": "true",
      "descheduler.alpha.kubernetes.io/prefer-no-eviction": "false",
    };
    expect(exclusionOf(contextOf({ pod: { metadata: { annotations } } }), RULES, NOW)).toEqual({
      reason: "prefer_no_eviction",
      detail: "it is annotated descheduler.alpha.kubernetes.io/prefer-no-eviction=false",
    });
  });

  test("or not, but never by a throw: fields of wrong types count as absent", () => {
    const odd = contextOf({
      pod: { spec: { volumes: "none", priority: "high" }, status: { conditions: 7 } },
    });
    expect(exclusionOf(odd, RULES, NOW)).toMatchObject({ reason: "pod_not_ready" });
    const broken = contextOf({
      ...annotated("sidecar.istio.io/status", "{"),
      pod: {
        metadata: { annotations: { "sidecar.istio.io/status": "{" } },
        spec: { volumes: [null, { name: "x", emptyDir: {} }] },
      },
    });
    expect(exclusionOf(broken, RULES, NOW)).toMatchObject({ reason: "local_storage" });
  });
});

test("the only replica of a workload may move if its replacement starts first", () => {
  const one = { replicas: 1, updatedReplicas: 1, readyReplicas: 1 };
  const parts = (type: string): Parts => ({
    pod: { metadata: { labels: { "pod-template-hash": "1" } } },
    workload: { spec: { replicas: 1, strategy: { type } }, status: one },
    controller: { replicas: 1 },
  });
  expect(exclusionOf(contextOf(parts("RollingUpdate")), RULES, NOW)).toBeNull();
  expect(exclusionOf(contextOf(parts("Recreate")), RULES, NOW)).toMatchObject({ reason: "single_replica" });
});
