// Zones for the planner's new replicas: where their Service lacks them. Frames set the wishes; the planner
// queries them per pod.
import { keyOf, moveOwnerOf, workloadOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { workloadKey } from "./workload-pods.ts";

export interface WorkloadWish {
  readonly wanted: ReadonlyMap<string, number>;
  /** Existing replicas by controller UID: a rollout begins without any of its own. */
  readonly there: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export class ZoneWishes {
  #wishes: ReadonlyMap<string, WorkloadWish> = new Map();
  readonly #said = new Map<string, string>();
  readonly #taken = new Map<string, number>();

  replace(wishes: ReadonlyMap<string, WorkloadWish>): void {
    this.#wishes = wishes;
    this.#said.clear();
    this.#taken.clear();
  }

  /** Zone that lacks most replicas of the pod's workload; null if none does. */
  zoneFor(pod: KubernetesObject): string | null {
    const wish = this.#wishes.get(workloadKey(workloadOf(pod)));
    const owner = moveOwnerOf(pod)?.uid;
    if (wish === undefined || owner === undefined) return null;
    const said = this.#said.get(idOf(pod));
    if (said !== undefined) return said;
    let found: string | null = null;
    let most = 0;
    for (const [zone, wanted] of wish.wanted) {
      const taken = this.#taken.get(`${owner}/${zone}`) ?? 0;
      const lacks = wanted - (wish.there.get(owner)?.get(zone) ?? 0) - taken;
      if (lacks > most) [found, most] = [zone, lacks];
    }
    return found;
  }

  take(pod: KubernetesObject, zone: string): void {
    const owner = moveOwnerOf(pod)?.uid ?? "";
    if (this.#said.has(idOf(pod))) return;
    this.#said.set(idOf(pod), zone);
    this.#taken.set(`${owner}/${zone}`, (this.#taken.get(`${owner}/${zone}`) ?? 0) + 1);
  }
}

function idOf(pod: KubernetesObject): string {
  return `${keyOf(pod)}/${pod.metadata.uid ?? ""}`;
}
