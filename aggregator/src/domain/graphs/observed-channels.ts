import type { ChannelRates, ChannelState, FlowRates } from "../traffic/channels.ts";
import type { ChannelKey } from "../channel-key.ts";
import { endIn } from "../traffic/channel-ends.ts";
import type { WindowName } from "../windows/window-shape.ts";

/** Rates of a channel as each end believes them; null: no reporter that the end trusts. */
export interface EndRates {
  readonly key: ChannelKey;
  readonly source: ChannelRates | null;
  readonly target: ChannelRates | null;
}

export interface ChannelSource {
  values(): Iterable<Pick<ChannelState, "flowRates" | "key" | "rates">>;
}

/** Yields channels with traffic in the window or open connections, including external ones. */
export function* observedChannels(
  channels: ChannelSource,
  nowMs: number,
  window: WindowName,
): Generator<{ readonly key: ChannelKey; readonly rates: EndRates }> {
  for (const channel of channels.values()) {
    const { key } = channel;
    const source = used(channel.rates(nowMs, window, "source"));
    const isWithin = key.sourceNamespace === key.targetNamespace;
    const target = isWithin ? source : used(channel.rates(nowMs, window, "target"));
    if (source !== null || target !== null) yield { key, rates: { key, source, target } };
  }
}

export function* channelFlows(
  channels: ChannelSource,
  nowMs: number,
  window: WindowName,
): Generator<{ readonly key: ChannelKey; readonly flow: FlowRates }> {
  for (const channel of channels.values()) {
    const flow = channel.flowRates(nowMs, window);
    if (flow !== null) yield { key: channel.key, flow };
  }
}

export function ratesIn(rates: EndRates | null, namespace: string): ChannelRates | null {
  return rates === null ? null : rates[endIn(rates.key, namespace)];
}

function used(rates: ChannelRates | null): ChannelRates | null {
  if (rates === null) return null;
  const { requestsPerSecond, bytesPerSecond, eventsPerSecond } = rates;
  return (requestsPerSecond ?? 0) > 0 || (bytesPerSecond ?? 0) > 0 || (eventsPerSecond ?? 0) > 0
    ? rates
    : null;
}
