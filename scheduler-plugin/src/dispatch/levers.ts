// Levers that write weights: hints through a plan on the Service's EndpointSlices, or a DestinationRule.
import type { ZonePlan, ZoneWeights } from "@isochrone/dispatch/zones";
import { isStoreError, KINDS, zonesHinted } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { isDeepStrictEqual } from "node:util";
import {
  DISPATCH_FIELD_MANAGER,
  distributeOf,
  distributeRule,
  foreignRule,
  isOwnRule,
  ruleName,
  weightsOfRule,
} from "./objects/destination-rule.ts";
import { PLAN_ANNOTATION, planText, readPlan } from "./objects/plan-annotation.ts";
import type { Refusal } from "./objects/service-view.ts";
import { takeBackPatch, wantedHints } from "./objects/slice-hints.ts";
import type { ServiceFollower } from "./service-follower.ts";

export interface LeverTarget {
  readonly service: KubernetesObject;
  readonly slices: readonly KubernetesObject[];
  readonly regions: ReadonlyMap<string, string>;
}

/** One mechanism for spreading requests. Methods throw StoreErrors. */
export interface Lever {
  current(target: LeverTarget): ZoneWeights | null;
  /** Returns why the lever can't serve the Service; null if it can. */
  obstacle(target: LeverTarget, zones: readonly string[]): Refusal | null;
  /**
   * Applies the weights; returns a refusal if they don't hold afterwards.
   * @param changed whether they differ from the existing ones
   */
  pull(target: LeverTarget, plan: ZonePlan, changed: boolean): Promise<Refusal | null>;
  release(except: ReadonlySet<string>): Promise<void>;
}

const MAX_RELEASES = 200;

export class HintsLever implements Lever {
  readonly #store: ClusterStore;
  readonly #follower: ServiceFollower;

  constructor(store: ClusterStore, follower: ServiceFollower) {
    this.#store = store;
    this.#follower = follower;
  }

  current({ slices }: LeverTarget): ZoneWeights | null {
    return standingPlan(slices)?.weights ?? null;
  }

  obstacle(): null {
    return null;
  }

  async pull({ slices }: LeverTarget, plan: ZonePlan, changed: boolean): Promise<Refusal | null> {
    // Changed rates alone don't justify a write.
    const text = planText((changed ? null : standingPlan(slices)) ?? plan);
    let unkept: string | null = null;
    for (const slice of slices) {
      const { name, namespace } = slice.metadata;
      const wanted = wantedHints(
        slice,
        slices.filter((other) => other !== slice),
        readPlan(text) ?? plan,
      );
      if (
        slice.metadata.annotations?.[PLAN_ANNOTATION] === text &&
        isDeepStrictEqual(zonesHinted(slice), wanted)
      )
        continue;
      const ref = { ...KINDS.endpointSlice, name, ...(namespace === undefined ? {} : { namespace }) };
      const written = await this.#store.patch(ref, {
        metadata: { annotations: { [PLAN_ANNOTATION]: text } },
      });
      // The webhook inserts them whenever Kubernetes writes the slice.
      if (
        zonesHinted(written).every((zones) => zones.length === 0) &&
        wanted.some((zones) => zones.length > 0)
      )
        unkept = name;
    }
    return unkept === null
      ? null
      : {
          reason: "not_kept",
          message: `EndpointSlice ${unkept} has no hints: the webhook isn't asked, or somebody else takes them off`,
        };
  }

  async release(except: ReadonlySet<string>): Promise<void> {
    const ours = [...this.#follower.allSlices()].filter(
      ([service, { metadata }]) =>
        !except.has(service) && metadata.annotations?.[PLAN_ANNOTATION] !== undefined,
    );
    for (const [, slice] of ours.slice(0, MAX_RELEASES)) {
      const { name, namespace = "default" } = slice.metadata;
      const ref = { ...KINDS.endpointSlice, namespace, name };
      try {
        await this.#store.jsonPatch(ref, takeBackPatch(slice), { isUnexplained: true });
      } catch (error) {
        const isOld = (["conflict", "invalid", "not_found"] as const).some((code) =>
          isStoreError(error, code),
        );
        if (!isOld) throw error;
      }
    }
  }
}

function standingPlan(slices: readonly KubernetesObject[]): ZonePlan | null {
  for (const { metadata } of slices) {
    const plan = readPlan(metadata.annotations?.[PLAN_ANNOTATION]);
    if (plan !== null) return plan;
  }
  return null;
}

export class IstioLever implements Lever {
  readonly #store: ClusterStore;
  readonly #follower: ServiceFollower;

  constructor(store: ClusterStore, follower: ServiceFollower) {
    this.#store = store;
    this.#follower = follower;
  }

  current(target: LeverTarget): ZoneWeights | null {
    const rule = this.#ruleOf(target);
    return rule === null ? null : weightsOfRule(rule);
  }

  obstacle({ service, regions }: LeverTarget, zones: readonly string[]): Refusal | null {
    const foreign = foreignRule(service, this.#follower.rules());
    if (foreign !== null) {
      const { namespace, name } = foreign.metadata;
      const message = `DestinationRule ${namespace}/${name} speaks of the Service already`;
      return { reason: "other_controller", message };
    }
    const without = zones.find((zone) => !regions.has(zone));
    return without === undefined
      ? null
      : {
          reason: "missing_region",
          message: `nodes of zone ${without} have no label topology.kubernetes.io/region`,
        };
  }

  async pull(target: LeverTarget, { weights }: ZonePlan): Promise<Refusal | null> {
    const rule = distributeRule(target.service, weights, target.regions);
    const before = this.#ruleOf(target);
    if (before !== null && isDeepStrictEqual(distributeOf(before), distributeOf(rule))) return null;
    try {
      await this.#store.apply(rule, { fieldManager: DISPATCH_FIELD_MANAGER });
      return null;
    } catch (error) {
      if (!isStoreError(error, "conflict")) throw error;
      const { namespace, name } = rule.metadata;
      const message = `somebody else writes DestinationRule ${namespace}/${name}`;
      return { reason: "other_controller", message };
    }
  }

  async release(except: ReadonlySet<string>): Promise<void> {
    const kept = new Set(
      Array.from(except, (service) => {
        const [namespace, name] = service.split("/");
        return `${namespace}/${ruleName(name!)}`;
      }),
    );
    for (const rule of this.#follower.rules()) {
      const { namespace = "default", name, uid } = rule.metadata;
      if (!isOwnRule(rule) || kept.has(`${namespace}/${name}`)) continue;
      try {
        const preconditions = uid === undefined ? {} : { uid };
        await this.#store.delete({ ...KINDS.destinationRule, namespace, name }, { preconditions });
      } catch (error) {
        if (!isStoreError(error, "not_found") && !isStoreError(error, "conflict")) throw error;
      }
    }
  }

  #ruleOf({ service: { metadata } }: LeverTarget): KubernetesObject | null {
    const found = this.#follower
      .rules()
      .find(
        (rule) =>
          isOwnRule(rule) &&
          rule.metadata.namespace === metadata.namespace &&
          rule.metadata.name === ruleName(metadata.name),
      );
    return found ?? null;
  }
}
