// The services' settings as the embedded cluster wants them: shorter windows and a quicker beat than in a real cluster, everything on
// loopback. The environment still has the last word, except on what the composition itself decides (addresses, keys).
import { aggregatorSettings } from "@isochrone/aggregator";
import { collectorSettings } from "@isochrone/collector";
import { probeSettings } from "@isochrone/probe";
import { loadSettings } from "@isochrone/runtime";
import { schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import type { EmbeddedOptions } from "./options.ts";

/** Panes of a window: a sample leaves within a fifteenth of it. */
const PANES = 15;

const LOOPBACK = "127.0.0.1";

type Env = Readonly<Record<string, string | undefined>>;

export function aggregatorConfig({ windowMs, env }: EmbeddedOptions, port: number, decisionsUrl: string) {
  const paneMs = Math.max(100, Math.round(windowMs / PANES));
  const file = {
    aggregator: {
      windowMs: paneMs * PANES,
      paneMs,
      buildIntervalMs: Math.min(1_000, paneMs),
      maxFutureMs: Math.min(2_000, paneMs),
    },
  };
  return loadSettings([aggregatorSettings], {
    env,
    file,
    overrides: { aggregator: { host: LOOPBACK, port, decisionsUrl } },
  }).aggregator;
}

export function schedulerConfig({ env }: EmbeddedOptions, port: number, graphUrl: string) {
  const file = { scheduler: { refreshMs: 1_000, ledgerMs: 30_000 } };
  return loadSettings([schedulerPluginSettings], {
    env,
    file,
    overrides: { scheduler: { host: LOOPBACK, port, graphUrl } },
  }).scheduler;
}

/** What one node's probe is told; its addresses are the composition's business. */
export interface ProbeSeat {
  readonly node: string;
  readonly zone: string;
  readonly region: string;
  readonly bindAddress: string;
  readonly identity: string;
  readonly hmacKeys: string;
  readonly aggregatorUrl: string;
}

export function probeConfigOf(
  { windowMs, env }: { readonly windowMs: number; readonly env: Env },
  seat: ProbeSeat,
) {
  const publishIntervalMs = Math.max(200, Math.round(windowMs / PANES / 2));
  const intervalMs = Math.min(500, publishIntervalMs);
  const file = {
    probe: {
      intervalMs,
      timeoutMs: Math.min(1_000, 3 * publishIntervalMs),
      publishIntervalMs,
      planRefreshMs: 1_000,
      responderPacketsPerSecond: 10_000,
      zeroCheckIntervalMs: 1_000,
    },
  };
  // The relay translates addresses as a NAT would; the ports are taken as free ones are found, so that several clusters fit on a machine.
  const overrides = { probe: { ...seat, udpPort: 0, tcpPort: 0, httpPort: 0, acceptTranslatedSource: true } };
  return loadSettings([probeSettings], { env, file, overrides }).probe;
}

export function collectorConfig(
  { windowMs, env }: { readonly windowMs: number; readonly env: Env },
  node: string,
  aggregatorUrl: string,
) {
  const intervalMs = Math.max(200, Math.round(windowMs / PANES));
  const file = { collector: { intervalMs, timeoutMs: Math.max(100, Math.round(intervalMs * 0.75)) } };
  return loadSettings([collectorSettings], {
    env,
    file,
    overrides: { collector: { node, aggregatorUrl, host: LOOPBACK, port: 0 } },
  }).collector;
}
