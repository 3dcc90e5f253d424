import { NOTHING, type HtbClass, type KernelState, type OwnState } from "./kernel-state.ts";

/** Maximum delay: a full queue of half a second, and the time for other managers to follow the plan. */
const STAY_MS = 5_000;

export class Leaving {
  #since = new Map<string, number>();

  get isAny(): boolean {
    return this.#since.size > 0;
  }

  /** Adds delayed items to the wanted state. @param wanted null: nothing may stay */
  with(wanted: OwnState | null, kernel: KernelState, nowMs: number): OwnState {
    const before = this.#since;
    this.#since = new Map();
    if (wanted === null) return NOTHING;
    const stays = (name: string): boolean => {
      const sinceMs = before.get(name) ?? nowMs;
      if (nowMs - sinceMs >= STAY_MS) return false;
      this.#since.set(name, sinceMs);
      return true;
    };
    return { ...wanted, ...tunnelWith(wanted, kernel, stays), devices: devicesWith(wanted, kernel, stays) };
  }
}

type Stays = (name: string) => boolean;

/** Keeps devices with non-empty queues, which receive nothing more. */
function devicesWith(wanted: OwnState, kernel: KernelState, stays: Stays): OwnState["devices"] {
  const devices = new Map(wanted.devices);
  for (const [device, classes] of kernel.devices) {
    const needed = wanted.devices.get(device) ?? new Map<number, HtbClass>();
    const kept = [...classes.values()].filter(
      ({ minor }) =>
        !needed.has(minor) &&
        (kernel.counters.get(device)?.get(minor)?.queuedPackets ?? 0) > 0 &&
        stays(`${device} ${minor}`),
    );
    if (kept.length === 0) continue;
    const parents = kept.flatMap(({ parent }) => (parent === null ? [] : (classes.get(parent) ?? [])));
    const all = [...parents, ...kept].map((htb): [number, HtbClass] => [htb.minor, htb]);
    devices.set(device, new Map([...all, ...needed]));
  }
  return devices;
}

function tunnelWith(
  { tunnel, peers }: OwnState,
  kernel: KernelState,
  stays: Stays,
): Pick<OwnState, "peers" | "tunnel"> {
  if (kernel.tunnel === null) return { tunnel, peers };
  const kept = [...kernel.peers].filter((address) => !peers.has(address) && stays(`peer ${address}`));
  if (kept.length === 0) return { tunnel, peers };
  return { tunnel: tunnel ?? kernel.tunnel, peers: new Set([...peers, ...kept]) };
}
