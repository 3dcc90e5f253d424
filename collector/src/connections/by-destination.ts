// Keys bytes by pod address, and traffic outside the cluster by destination name, because external addresses
// may number millions.
import { CONNECTION_ATTRIBUTES, OUTSIDE_ATTRIBUTES, OUTSIDE_DIRECTIONS } from "@isochrone/telemetry";
import { type Outside } from "@isochrone/telemetry/outside";
import { podAddress } from "./addresses.ts";
import type { Pair } from "./connection-table.ts";
import type { Counted } from "./told-series.ts";

interface ByDestination {
  readonly inside: readonly Counted[];
  readonly outside: readonly Counted[];
}

export function byDestination(pairs: readonly Pair[], outside: Outside | null): ByDestination {
  const inside: Counted[] = [];
  const exchanged = new Exchanged();
  for (const { client, server, bytes, answerBytes } of pairs) {
    const [from, to] = [podAddress(client), podAddress(server)];
    if (from === null || to === null) continue;
    const [fromName, toName] = [outside?.nameOf(client) ?? null, outside?.nameOf(server) ?? null];
    if (fromName === null && toName === null) {
      const attributes = { [CONNECTION_ATTRIBUTES.client]: from, [CONNECTION_ATTRIBUTES.server]: to };
      inside.push({ attributes, bytes });
    } else if (fromName === null) exchanged.add(from, toName!, bytes - answerBytes, answerBytes);
    else if (toName === null) exchanged.add(to, fromName, answerBytes, bytes - answerBytes);
    // Traffic forwarded between two external ends is ignored.
  }
  return { inside, outside: exchanged.all() };
}

class Exchanged {
  readonly #byKey = new Map<string, Counted>();

  add(pod: string, outside: string, sent: number, received: number): void {
    this.#add(pod, outside, OUTSIDE_DIRECTIONS.sent, sent);
    this.#add(pod, outside, OUTSIDE_DIRECTIONS.received, received);
  }

  #add(pod: string, outside: string, direction: string, bytes: number): void {
    if (bytes <= 0) return;
    const key = `${pod} ${outside} ${direction}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) known.bytes += bytes;
    else {
      const { pod: podLabel, outside: outsideLabel, direction: directionLabel } = OUTSIDE_ATTRIBUTES;
      const attributes = { [podLabel]: pod, [outsideLabel]: outside, [directionLabel]: direction };
      this.#byKey.set(key, { attributes, bytes });
    }
  }

  all(): Counted[] {
    return [...this.#byKey.values()];
  }
}
