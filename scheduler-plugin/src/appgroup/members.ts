import { keyOf, LABELS } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { InformerChange, KubernetesObject, PodStatus } from "@isochrone/kubernetes";

export interface GroupMembers {
  readonly pods: number;
  readonly running: number;
  /** Creation time of the oldest pod, RFC 3339; null without pods. */
  readonly firstCreated: string | null;
}

interface Member {
  readonly group: string;
  readonly namespace: string;
  readonly running: boolean;
  readonly created: string;
}

export class Members {
  readonly #pods = new Map<string, Member>();
  readonly #byGroup = new Map<string, Map<string, Member>>();

  apply({ type, object }: InformerChange): string[] {
    const key = keyOf(object);
    const before = this.#pods.get(key) ?? null;
    const after = type === "deleted" ? null : memberOf(object);
    if (before !== null) this.#remove(key, before);
    if (after !== null) this.#add(key, after);
    if (before?.group === after?.group && before?.running === after?.running) return [];
    return [...new Set([before?.group, after?.group].filter((group) => group !== undefined))];
  }

  of(group: string, counts: (namespace: string) => boolean): GroupMembers {
    let pods = 0;
    let running = 0;
    let firstCreated: string | null = null;
    for (const member of this.#byGroup.get(group)?.values() ?? []) {
      if (!counts(member.namespace)) continue;
      pods += 1;
      if (member.running) running += 1;
      if (member.created !== "" && (firstCreated === null || member.created < firstCreated))
        firstCreated = member.created;
    }
    return { pods, running, firstCreated };
  }

  #add(key: string, member: Member): void {
    this.#pods.set(key, member);
    const group = this.#byGroup.get(member.group) ?? new Map<string, Member>();
    this.#byGroup.set(member.group, group.set(key, member));
  }

  #remove(key: string, { group }: Member): void {
    this.#pods.delete(key);
    const members = this.#byGroup.get(group);
    members?.delete(key);
    if (members?.size === 0) this.#byGroup.delete(group);
  }
}

function memberOf({ metadata, status }: KubernetesObject): Member | null {
  const group = metadata.labels?.[LABELS.appGroup] ?? "";
  if (group === "") return null;
  return {
    group,
    namespace: metadata.namespace ?? "default",
    // Upstream counts by phase alone, including pods that are being deleted.
    running: looseFields<PodStatus>(status).phase === "Running",
    created: metadata.creationTimestamp ?? "",
  };
}
