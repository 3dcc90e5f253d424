// Tells why a running pod can't move now: the descheduler's exclusions and PodDisruptionBudgets. Used by
// proposals, plans and what-if.
import { keyOf, matchesSelector, moveOwnerOf, readLastMove, readMoveRecords } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { canSurge, exclusionOf } from "@isochrone/placement";
import type { ExclusionRules } from "@isochrone/placement";
import { isMet } from "../descheduler/decision/disruption-budgets.ts";
import { gatedTemplates } from "../descheduler/gated-templates.ts";
import type { GateRules } from "../webhook/gate-rules.ts";

interface JudgedObjects {
  readonly namespaces: readonly KubernetesObject[];
  readonly replicaSets: readonly KubernetesObject[];
  readonly deployments: readonly KubernetesObject[];
  readonly statefulSets: readonly KubernetesObject[];
  readonly persistentVolumes: readonly KubernetesObject[];
  readonly persistentVolumeClaims: readonly KubernetesObject[];
  readonly appGroups: readonly KubernetesObject[];
  readonly disruptionBudgets: readonly KubernetesObject[];
}

interface MoveJudgeInput {
  readonly objects: JudgedObjects;
  readonly rules: ExclusionRules;
  readonly webhook: GateRules | null;
  readonly nowMs: number;
}

export class MoveJudge {
  readonly #input: MoveJudgeInput;
  readonly #controllers: ReadonlyMap<string, KubernetesObject>;
  readonly #deployments: ReadonlyMap<string, KubernetesObject>;
  readonly #claims: ReadonlyMap<string, KubernetesObject>;
  readonly #volumes: ReadonlyMap<string, KubernetesObject>;
  readonly #budgets: ReadonlyMap<string, readonly KubernetesObject[]>;
  readonly #isGated: (controller: KubernetesObject, namespace: string) => boolean;

  constructor(input: MoveJudgeInput) {
    this.#input = input;
    const { objects, webhook } = input;
    this.#controllers = new Map(
      [...objects.replicaSets, ...objects.statefulSets].map((object) => [object.metadata.uid ?? "", object]),
    );
    this.#deployments = byKey(objects.deployments);
    this.#claims = byKey(objects.persistentVolumeClaims);
    this.#volumes = new Map(objects.persistentVolumes.map((object) => [object.metadata.name, object]));
    this.#budgets = Map.groupBy(objects.disruptionBudgets, namespaceOf);
    this.#isGated = gatedTemplates({ ...objects, webhook });
  }

  obstacleOf(pod: KubernetesObject): string | null {
    const { rules, nowMs } = this.#input;
    const controller = this.#controllers.get(moveOwnerOf(pod)?.uid ?? "") ?? null;
    const workload = controller === null ? null : this.#workloadAbove(controller);
    const surges = canSurge({ pod, workload });
    const exclusion = exclusionOf(
      {
        pod,
        controller,
        workload,
        replacementIsGated: controller !== null && this.#isGated(controller, namespaceOf(pod)),
        claim: (key) => this.#claims.get(key),
        volume: (name) => this.#volumes.get(name),
        moveInFlight: controller !== null && readMoveRecords(controller, nowMs).length > 0,
        lastMove: controller === null ? null : readLastMove(controller),
      },
      // The old pod serves until its replacement is ready.
      { ...rules, allowSingleReplicas: rules.allowSingleReplicas || surges },
      nowMs,
    );
    return exclusion === null ? this.#refusalOf(pod, surges) : `${exclusion.detail} (${exclusion.reason})`;
  }

  #refusalOf(pod: KubernetesObject, surges: boolean): string | null {
    const covering = (this.#budgets.get(namespaceOf(pod)) ?? []).filter(({ spec = {} }) =>
      matchesSelector(spec.selector, pod.metadata.labels),
    );
    if (covering.length > 1)
      return `${covering.length} PodDisruptionBudgets cover it, and the API server evicts no such pod (disruption_budget)`;
    const [budget] = covering;
    if (budget === undefined) return null;
    const { metadata, status = {} } = budget;
    if (surges && isMet(budget)) return null;
    // The eviction API refuses while the controller hasn't observed the newest generation.
    const isCurrent = Number(status.observedGeneration ?? Infinity) >= (metadata.generation ?? 0);
    const allowed = isCurrent ? Number(status.disruptionsAllowed ?? 0) : 0;
    return allowed > 0
      ? null
      : `the PodDisruptionBudget ${metadata.name} allows ${allowed} disruptions now (disruption_budget)`;
  }

  #workloadAbove(controller: KubernetesObject): KubernetesObject | null {
    const above = controller.metadata.ownerReferences?.find((owner) => owner.controller === true);
    if (above?.kind !== "Deployment") return controller;
    return this.#deployments.get(`${namespaceOf(controller)}/${above.name}`) ?? null;
  }
}

function byKey(objects: readonly KubernetesObject[]): Map<string, KubernetesObject> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

function namespaceOf({ metadata }: KubernetesObject): string {
  return metadata.namespace ?? "default";
}
