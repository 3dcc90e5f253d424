// A running plugin in which only time and the source of graphs are replaced.
import type { ClusterStore } from "@isochrone/kubernetes";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { Decision } from "@isochrone/topology";
import { onTestFinished } from "vitest";
import { createSchedulerPlugin } from "../service.ts";
import type { SchedulerPlugin } from "../service.ts";
import { schedulerPluginSettings } from "../settings.ts";
import type { SchedulerPluginConfig } from "../settings.ts";
import { MemoryGraphs } from "./graphs.ts";

export const NAMES: readonly string[] = ["n1", "n2", "n3"];

const START = Date.parse("2026-01-01T00:00:10.000Z");

/** The defaults on any free port, with overrides. */
export function configOf(overrides: Record<string, unknown> = {}): SchedulerPluginConfig {
  const scheduler = { port: 0, ...overrides };
  return loadSettings([schedulerPluginSettings], { env: {}, overrides: { scheduler } }).scheduler;
}

export interface Running {
  readonly plugin: SchedulerPlugin;
  readonly clock: ManualClock;
  readonly graphs: MemoryGraphs;
  readonly store: ClusterStore | undefined;
  readonly metrics: () => Promise<string>;
  readonly post: (verb: string, body: unknown) => Promise<{ status: number; json: any; type: string | null }>; // oxlint-disable-line typescript/no-explicit-any
  readonly decisions: (query?: string) => Promise<Decision[]>;
}

export interface SharedParts {
  readonly clock?: ManualClock;
  readonly graphs?: MemoryGraphs;
  readonly store?: ClusterStore;
}

export function rigClock(): ManualClock {
  return new ManualClock(START);
}

export async function running(
  overrides: Record<string, unknown> = {},
  shared: SharedParts = {},
): Promise<Running> {
  const { clock = rigClock(), graphs = new MemoryGraphs(), store } = shared;
  const registry = createRegistry();
  const plugin = createSchedulerPlugin(configOf(overrides), {
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry,
    graphs,
    ...(store === undefined ? {} : { store }),
  });
  await plugin.start();
  onTestFinished(() => plugin.stop());
  const { url } = plugin.address();
  return {
    plugin,
    clock,
    graphs,
    store,
    metrics: () => registry.metrics(),
    post: async (verb, body) => {
      const response = await fetch(`${url}/scheduler/${verb}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      return {
        status: response.status,
        json: await response.json(),
        type: response.headers.get("content-type"),
      };
    },
    decisions: async (query = "") =>
      ((await (await fetch(`${url}/api/v1/decisions${query}`)).json()) as { decisions: Decision[] })
        .decisions,
  };
}
