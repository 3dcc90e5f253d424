import { fullName, type ClusterState, type WorkloadAliases } from "../domain/cluster-state.ts";

/** Entries of the interning cache. A full cache is cleared, which costs memory only. */
const MAX_SHARED = 16_384;
const shared = new Map<string, WorkloadAliases>();

/** Interns aliases: equal ones become one object, because many pods have the same. */
export function sharedAliases(aliases: WorkloadAliases | null): WorkloadAliases | null {
  if (aliases === null) return null;
  const text = `${aliases.workload.join()} ${aliases.service.join()}`;
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(text, aliases);
  return aliases;
}

/** Marks a name of several workloads. It resolves to none of them. */
const SEVERAL = Symbol("several workloads");
type Meaning = string | typeof SEVERAL;

interface Resolved {
  readonly workload: string | null;
  readonly isAmbiguous: boolean;
}

const NOBODY: Resolved = { workload: null, isAmbiguous: false };

/** Workloads by name and alias. A workload's own name takes precedence. Keys are `namespace/name`. */
export class AliasIndex {
  readonly #own = new Map<string, WorkloadAliases | undefined>();
  readonly #byWorkloadName = new Map<string, Meaning>();
  readonly #byServiceName = new Map<string, Meaning>();

  constructor({ pods, workloads }: Pick<ClusterState, "pods" | "workloads">) {
    for (const { namespace, name, aliases } of workloads) this.#add(namespace, name, aliases);
    for (const { namespace, name, workload, aliases } of pods)
      this.#add(namespace, workload?.name ?? name, aliases);
  }

  /** @param ofService whether the name may be a service name from traces or flows */
  resolve(namespace: string, name: string, ofService: boolean): Resolved {
    const key = `${namespace}/${name}`;
    const given = this.#byWorkloadName.get(key);
    if (this.#own.has(key)) return { workload: name, isAmbiguous: given !== undefined };
    const meaning = given ?? (ofService ? this.#byServiceName.get(key) : undefined);
    if (meaning === undefined) return NOBODY;
    return meaning === SEVERAL
      ? { workload: null, isAmbiguous: true }
      : { workload: meaning, isAmbiguous: false };
  }

  #add(namespace: string, workload: string, aliases: WorkloadAliases | undefined): void {
    const key = fullName({ namespace, name: workload });
    if (this.#own.has(key) && (aliases === undefined || this.#own.get(key) === aliases)) return;
    this.#own.set(key, aliases);
    for (const alias of aliases?.workload ?? []) claim(this.#byWorkloadName, namespace, alias, workload);
    for (const alias of aliases?.service ?? []) claim(this.#byServiceName, namespace, alias, workload);
  }
}

function claim(names: Map<string, Meaning>, namespace: string, alias: string, workload: string): void {
  const key = `${namespace}/${alias}`;
  const known = names.get(key);
  names.set(key, known === undefined || known === workload ? workload : SEVERAL);
}
