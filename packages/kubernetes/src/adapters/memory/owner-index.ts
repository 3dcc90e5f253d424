import type { KubernetesObject } from "../../store/port.ts";

export class OwnerIndex {
  readonly #dependents = new Map<string, Map<string, KubernetesObject>>();
  readonly #ownersOf = new Map<string, readonly string[]>();

  set(object: KubernetesObject): void {
    const uid = object.metadata.uid ?? "";
    this.#unlink(uid);
    const owners = (object.metadata.ownerReferences ?? []).map((owner) => owner.uid);
    if (owners.length === 0) return;
    this.#ownersOf.set(uid, owners);
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner) ?? new Map<string, KubernetesObject>();
      this.#dependents.set(owner, dependents.set(uid, object));
    }
  }

  /** Forgets an object. Returns dependents that lost their last owner. */
  remove(object: KubernetesObject): KubernetesObject[] {
    const uid = object.metadata.uid ?? "";
    this.#unlink(uid);
    const dependents = [...(this.#dependents.get(uid) ?? [])];
    this.#dependents.delete(uid);
    const orphans: KubernetesObject[] = [];
    for (const [dependentUid, dependent] of dependents) {
      const others = (this.#ownersOf.get(dependentUid) ?? []).filter((owner) => owner !== uid);
      this.#ownersOf.set(dependentUid, others);
      if (others.length === 0) orphans.push(dependent);
    }
    return orphans;
  }

  #unlink(uid: string): void {
    for (const owner of this.#ownersOf.get(uid) ?? []) {
      const dependents = this.#dependents.get(owner);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner);
    }
    this.#ownersOf.delete(uid);
  }
}
