import { SchedulingModel } from "@isochrone/placement";
import { textOf, type Outcome, type Trial, type Trials } from "./trial.ts";

type Fields = Readonly<Record<string, unknown>>;

const HOST = "kubernetes.io/hostname";
const NODES = Array.from({ length: 20 }, (_, at) => ({
  metadata: { name: `n${at}`, labels: { [HOST]: `n${at}` } },
  spec: {},
  status: {
    allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True" }],
  },
}));
const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

export function podTrials(): Trials {
  const trials: Readonly<Record<string, Trial>> = {
    "pod: `topologySpreadConstraints`": (amount) =>
      planned({ topologySpreadConstraints: many(amount, spreadOver) }),
    "pod: terms of `podAffinity`": (amount) => planned(affinity("podAffinity", many(amount, near))),
    "pod: terms of `podAntiAffinity`": (amount) => planned(affinity("podAntiAffinity", many(amount, near))),
    "pod: terms of `nodeAffinity`": (amount) =>
      planned(affinity("nodeAffinity", { nodeSelectorTerms: many(amount, (at) => expressions(at)) })),
    "pod: `tolerations`": (amount) =>
      planned({ tolerations: many(amount, (at) => ({ key: `k${at}`, operator: "Exists" })) }),
    "pod: `volumes`": (amount) =>
      planned({ volumes: many(amount, (at) => ({ name: `v${at}`, emptyDir: {} })) }),
    "pod: `containers`": (amount) => planned({ containers: many(amount, (at) => ({ name: `c${at}` })) }),
    "pod: `initContainers`": (amount) =>
      planned({ initContainers: many(amount, (at) => ({ name: `c${at}` })) }),
    "pod: ports": (amount) =>
      planned({ containers: [{ name: "c", ports: many(amount, (at) => ({ hostPort: at + 1 })) }] }),
    "pod: characters of all scheduling rules": (amount) => {
      // Field names count as well.
      const own = ["key", "operator", "Exists"].join("").length;
      return planned({ tolerations: [{ key: textOf(amount - own), operator: "Exists" }] });
    },
  };
  return { trials };
}

/** The planner skips a pod beyond a limit. Its reason names the limit. */
function planned(spec: Fields): Outcome {
  const pod = {
    metadata: { name: "p", namespace: "shop", uid: "p", labels: {} },
    spec: { containers: [{ name: "main" }], ...spec },
    status: {},
  };
  const model = SchedulingModel.of({ nodes: NODES, pods: [] });
  const reasons = model.unsupported(pod);
  model.template(pod);
  model.place(pod, "n0");
  return { isCut: reasons.length > 0, named: reasons[0] ?? null, input: pod, kept: model };
}

function many<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

function affinity(kind: string, required: unknown): Fields {
  return { affinity: { [kind]: { [REQUIRED]: required } } };
}

function near(at: number): Fields {
  return { topologyKey: HOST, labelSelector: { matchLabels: { app: `a${at}` } } };
}

function expressions(at: number): Fields {
  return { matchExpressions: [{ key: `k${at}`, operator: "DoesNotExist" }] };
}

function spreadOver(at: number): Fields {
  const labelSelector = { matchLabels: { app: `a${at}` } };
  return { topologyKey: HOST, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", labelSelector };
}
