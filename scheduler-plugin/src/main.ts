// The scheduler-plugin's process.
import { serviceMain } from "@isochrone/runtime/main";
import { createSchedulerPlugin } from "./service.ts";
import { schedulerPluginSettings } from "./settings.ts";

await serviceMain({
  name: "scheduler-plugin",
  section: schedulerPluginSettings,
  env: process.env,
  create: (config, surroundings) => [createSchedulerPlugin(config, surroundings)],
});
