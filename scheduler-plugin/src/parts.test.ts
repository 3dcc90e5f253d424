import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { failEachPart, MemoryLogger, mistakesOf } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { deschedulerSettings } from "./descheduler/decision/settings.ts";
import { plannerSettings } from "./planner/settings.ts";
import type { SchedulerPluginDeps } from "./plugin-deps.ts";
import { createSchedulerPlugin } from "./service.ts";
import type { SchedulerPlugin } from "./service.ts";
import { configOf } from "./testing/rig.ts";
import { MemoryGraphs } from "./testing/graphs.ts";
import { webhookSettings } from "./webhook/settings.ts";

function build(more: Partial<SchedulerPluginDeps> = {}): SchedulerPlugin {
  return createSchedulerPlugin(configOf({ managedResource: "isochrone.dev/placement" }), {
    clock: systemClock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry(),
    graphs: new MemoryGraphs(),
    ...more,
  });
}

function buildAll(): SchedulerPlugin {
  const { webhook, planner, descheduler } = loadSettings(
    [webhookSettings, plannerSettings, deschedulerSettings],
    {
      env: {},
      overrides: {
        webhook: { enabled: true, host: "127.0.0.1", port: 0 },
        planner: { enabled: true },
        descheduler: { mode: "evict" },
      },
    },
  );
  return build({ store: createMemoryStore({ clock: systemClock }), webhook, planner, descheduler });
}

test.each([
  ["without a cluster", () => build()],
  ["with all its parts", buildAll],
])("a part of the scheduler-plugin that fails keeps no other from being stopped (%s)", async (_, make) => {
  expect((await failEachPart(make)).flatMap(mistakesOf)).toEqual([]);
});

test("what may be switched on is among the parts", () => {
  const names = buildAll().parts.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["election", "planner/terms", "descheduler/terms", "webhook/server", "proposals"]),
  );
});
