import type { WireExchange, WirePacket } from "./record.ts";

/** Key that a request shares with its answer; null: neither. */
export type ExchangeKey = (packet: WirePacket) => string | null;

/**
 * Pairs requests of `source` to `target` with answers. Drops pairs with a lost packet; the first of several
 * packets with one key counts.
 * @param forward packets from source to target
 * @param back packets from target to source
 */
export function pairExchanges(
  forward: readonly WirePacket[],
  back: readonly WirePacket[],
  key: ExchangeKey = defaultKey,
): WireExchange[] {
  const answers = firstByKey(
    back.filter(({ echo }) => echo?.reply !== false),
    key,
  );
  const requests = firstByKey(
    forward.filter(({ echo }) => echo?.reply !== true),
    key,
  );
  return [...requests].flatMap(([name, request]) => {
    const answer = answers.get(name);
    return answer === undefined ? [] : [exchange(request, answer)];
  });
}

function firstByKey(packets: readonly WirePacket[], key: ExchangeKey): Map<string, WirePacket> {
  const first = new Map<string, WirePacket>();
  for (const packet of packets) {
    const name = packet.leftAtNs === null ? null : key(packet);
    if (name !== null && !first.has(name)) first.set(name, packet);
  }
  return first;
}

function exchange(request: WirePacket, answer: WirePacket): WireExchange {
  return {
    request,
    answer,
    addedMs: request.addedMs! + answer.addedMs!,
    roundTripMs: Number(answer.leftAtNs! - request.enteredAtNs) / 1e6,
  };
}

/** ICMP: identifier and sequence. UDP and TCP: flow and first bytes of payload, which an echo repeats. */
function defaultKey(packet: WirePacket): string | null {
  const { echo, family, protocol, sourcePort, targetPort, head } = packet;
  if (echo !== null) return `${family} ${echo.id} ${echo.sequence}`;
  if (sourcePort === 0) return null;
  const ports = [sourcePort, targetPort].sort((a, b) => a - b).join(" ");
  return `${family} ${protocol} ${ports} ${Buffer.from(head.subarray(8)).toString("latin1")}`;
}
