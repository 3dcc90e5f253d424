import { AppGroupMembers, type AppGroupId, type AppGroupMember } from "@isochrone/topology";
import { fullName, type PodState, type WorkloadState } from "../domain/cluster-state.ts";

/** Pods and workloads by AppGroup label. Rebuilt only if a label changed. */
export class AppGroupIndex {
  #texts: ReadonlySet<string> = new Set();
  #members = new AppGroupMembers({ members: [], groups: [], workloads: [] });

  /** Returns the same object while the result is unchanged. */
  of(
    pods: readonly PodState[],
    workloads: readonly WorkloadState[],
    groups: readonly AppGroupId[],
  ): AppGroupMembers {
    // Without AppGroups the labels have no effect, and we can skip a scan of 100,000 pods.
    const found = new Found();
    if (groups.length === 0) return this.#membersOf(found, groups);
    for (const { namespace, name, appGroup } of workloads)
      found.add(namespace, name, appGroup, { isBare: false });
    for (const { namespace, name, workload, appGroup } of pods)
      found.add(namespace, workload?.name ?? name, appGroup, { isBare: workload === null });
    for (const group of groups) found.texts.add(`group ${fullName(group)}`);
    return this.#membersOf(found, groups);
  }

  #membersOf(found: Found, groups: readonly AppGroupId[]): AppGroupMembers {
    if (isSame(found.texts, this.#texts)) return this.#members;
    this.#texts = found.texts;
    this.#members = new AppGroupMembers({
      members: found.members.values(),
      groups,
      workloads: found.names.values(),
    });
    return this.#members;
  }
}

class Found {
  readonly texts = new Set<string>();
  readonly members = new Map<string, AppGroupMember>();
  readonly names = new Map<string, AppGroupId>();

  add(
    namespace: string,
    workload: string,
    place: PodState["appGroup"],
    { isBare }: { readonly isBare: boolean },
  ): void {
    const name = `${namespace}/${workload}`;
    if (place !== undefined) {
      const text = `member ${name} ${place.group} ${place.selector} ${isBare}`;
      this.texts.add(text);
      if (!this.members.has(text)) this.members.set(text, { namespace, ...place, workload, isBare });
      if (isBare) return;
    }
    if (this.names.has(name)) return;
    this.names.set(name, { namespace, name: workload });
    this.texts.add(name);
  }
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && a.isSubsetOf(b);
}
