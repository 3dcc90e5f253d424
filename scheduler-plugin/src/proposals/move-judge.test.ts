import { KINDS, PLACEMENT_GATE } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { MovablePod } from "@isochrone/placement";
import { expect, test } from "vitest";
import { readBudgets } from "../descheduler/decision/disruption-budgets.ts";
import type { Survey } from "../descheduler/decision/survey.ts";
import { MoveJudge } from "./move-judge.ts";

const NOW_MS = Date.parse("2026-01-02T00:00:00Z");
const LABELS = { app: "web", "pod-template-hash": "1" };
const DAY_AGO = { namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" };
const READY = { replicas: 2, updatedReplicas: 2, readyReplicas: 2 };
const RULES = {
  minPodAgeMs: 0,
  allowLocalStorage: false,
  allowStatefulSets: false,
  allowSingleReplicas: false,
};

const ownedBy = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: "apps/v1", kind, name, uid: name, controller: true }],
});
const replicaSet: KubernetesObject = {
  ...KINDS.replicaSet,
  metadata: { name: "web-1", uid: "web-1", ...DAY_AGO, ...ownedBy("Deployment", "web") },
  spec: {
    replicas: 2,
    template: { metadata: { labels: LABELS }, spec: { schedulingGates: [{ name: PLACEMENT_GATE }] } },
  },
  status: READY,
};
const pod: KubernetesObject = {
  ...KINDS.pod,
  metadata: { name: "web-1-a", uid: "a", labels: LABELS, ...DAY_AGO, ...ownedBy("ReplicaSet", "web-1") },
  spec: { containers: [{ name: "web" }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};

const deploymentOf = (type: string): KubernetesObject => ({
  ...KINDS.deployment,
  metadata: { name: "web", uid: "web", ...DAY_AGO },
  spec: { replicas: 2, strategy: { type } },
  status: READY,
});

const budgetOf = (name: string, currentHealthy: number, disruptionsAllowed: number): KubernetesObject => ({
  ...KINDS.podDisruptionBudget,
  metadata: { name, namespace: "shop" },
  spec: { minAvailable: 2, selector: { matchLabels: { app: "web" } } },
  status: { currentHealthy, desiredHealthy: 2, disruptionsAllowed },
});

const FULL = budgetOf("full", 2, 0);
const BROKEN = budgetOf("broken", 1, 0);
const SPARE = budgetOf("spare", 3, 1);

test.each([
  ["replaced first, and its budget is met", "RollingUpdate", [FULL], true],
  ["replaced first, and its budget isn't met", "RollingUpdate", [BROKEN], false],
  ["replaced first, and two budgets cover it", "RollingUpdate", [FULL, SPARE], false],
  ["evicted first, and its budget has none to spare", "Recreate", [FULL], false],
  ["evicted first, and its budget has one to spare", "Recreate", [SPARE], true],
  ["evicted first, and two budgets cover it", "Recreate", [SPARE, SPARE], false],
])(
  "a pod that is %s: proposals promise what the descheduler does",
  async (_, strategy, disruptionBudgets, isMoved) => {
    const judge = new MoveJudge({
      objects: {
        namespaces: [],
        replicaSets: [replicaSet],
        deployments: [deploymentOf(strategy)],
        statefulSets: [],
        persistentVolumes: [],
        persistentVolumeClaims: [],
        appGroups: [],
        disruptionBudgets,
      },
      rules: RULES,
      webhook: null,
      nowMs: NOW_MS,
    });
    expect(/\(\w+\)$/.exec(judge.obstacleOf(pod) ?? "(none)")?.[0]).toBe(
      isMoved ? "(none)" : "(disruption_budget)",
    );

    const surveyed = { object: pod, canSurge: strategy === "RollingUpdate" };
    const store = { list: async () => ({ items: disruptionBudgets }) };
    const survey = { pods: new Map([["a", surveyed]]) } as unknown as Survey;
    const budgets = await readBudgets(store as unknown as Parameters<typeof readBudgets>[0], survey);
    const asked = { uid: "a", namespace: "shop" } as MovablePod;
    const covering = budgets!.filter((budget) => budget.covers(asked));
    expect(covering.length < 2 && covering.every(({ allowed }) => allowed > 0)).toBe(isMoved);
  },
);
