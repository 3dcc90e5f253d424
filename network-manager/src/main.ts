import { openPublisher } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { authorizedFetch } from "@isochrone/runtime";
import { serviceMain } from "@isochrone/runtime/main";
import { createIprouteKernel } from "./adapters/iproute/iproute-kernel.ts";
import { toolRunner } from "./adapters/iproute/run-tool.ts";
import { createPlanSource } from "./adapters/plan-source.ts";
import { createSocketLock } from "./adapters/socket-lock.ts";
import { cleanUp } from "./clean-up.ts";
import { createNetworkManager } from "./network-manager.ts";
import { flowsSettings } from "./settings.ts";

/** Allows one manager per node's network. */
const LOCK_NAME = "isochrone-network-manager";

const kernel = createIprouteKernel(toolRunner());

if (process.argv.includes("--cleanup")) {
  const { isClean, text } = await cleanUp(kernel);
  process.stdout.write(`${text}\n`);
  process.exitCode = isClean ? 0 : 1;
} else {
  await serviceMain({
    name: "network-manager",
    section: flowsSettings,
    shared: { bus: busSettings },
    env: process.env,
    async create(config, surroundings, shared) {
      const { clock, logger } = surroundings;
      const { node, aggregatorUrl, aggregatorTokenFile: tokenFile, aggregatorCaFile: caFile } = config;
      const fetch = authorizedFetch({ tokenFile, caFile, clock });
      const { bus, service } = await openPublisher(shared.bus, {
        ...surroundings,
        otlpHttp: {
          url: `${aggregatorUrl.replace(/\/+$/, "")}/v1/metrics`,
          fetch,
          onPartialSuccess: (partial) =>
            logger.warnOnce("partial-success", "aggregator did not take everything", { partial }),
        },
        recordKey: { aggregatorUrl, speaker: { kind: "node", node }, fetch },
      });
      const plans = createPlanSource({ aggregatorUrl, node, fetch });
      const lock = createSocketLock(LOCK_NAME);
      return [
        { name: "bus", service },
        {
          name: "network manager",
          service: createNetworkManager(config, { ...surroundings, bus, plans, kernel, lock }),
        },
      ];
    },
  });
}
