// What no plan names any more, but packets may still be under way by: it stays until they have passed.
import { NOTHING, type HtbClass, type KernelState, type OwnState } from "./kernel-state.ts";

/**
 * Longest stay: a full queue of half a second, and the time that passes until the managers of other nodes
 * follow the same change of plan.
 */
const STAY_MS = 5_000;

/** Keeps what a change of plan takes away, while packets may need it. */
export class Leaving {
  /** When it was no longer wanted first, by name. Monotonic milliseconds. */
  #since = new Map<string, number>();

  /** Whether something stays that isn't wanted. */
  get isAny(): boolean {
    return this.#since.size > 0;
  }

  /**
   * @param wanted null: nothing may stay
   * @returns what is wanted, and what stays for a while
   */
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

/** With the queues that aren't empty. Nothing gets into them any more. */
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

/** With the neighbours that may not know yet that they have nothing to send by it. */
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
