// In which zones the planner is to put new replicas: where their Service lacks them. The frames say what is
// wanted, and the planner asks for each pod.
import { keyOf, moveOwnerOf, workloadOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { workloadKey } from "./workload-pods.ts";

/** Of one workload. */
export interface WorkloadWish {
  /** Replicas by zone. */
  readonly wanted: ReadonlyMap<string, number>;
  /** Those that are there, by the uid of their own controller: a rollout begins with none of its own. */
  readonly there: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export class ZoneWishes {
  #wishes: ReadonlyMap<string, WorkloadWish> = new Map();
  /** By pod, where it goes since the newest frame. */
  readonly #said = new Map<string, string>();
  readonly #taken = new Map<string, number>();

  /** By {@link workloadKey}. */
  replace(wishes: ReadonlyMap<string, WorkloadWish>): void {
    this.#wishes = wishes;
    this.#said.clear();
    this.#taken.clear();
  }

  /** The zone that lacks most of the pod's kind; null: none does, or nothing is wished. */
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

  /** The pod goes there: the zone lacks one less. */
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
