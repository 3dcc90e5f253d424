import { kubernetesSettings, openStore } from "@isochrone/kubernetes/api-server";
import { authorizedFetch, SettingsError } from "@isochrone/runtime";
import { serviceMain } from "@isochrone/runtime/main";
import { graphReader } from "./graph-reader.ts";
import { createDispatcher, dispatcherSettings } from "./index.ts";

await serviceMain({
  name: "dispatcher",
  section: dispatcherSettings,
  shared: { kubernetes: kubernetesSettings },
  env: process.env,
  async create(config, surroundings, { kubernetes }) {
    const { clock } = surroundings;
    const { aggregatorUrl, aggregatorTokenFile: tokenFile, aggregatorCaFile: caFile } = config;
    const opened = await openStore(kubernetes, { ...surroundings, env: process.env, service: "dispatcher" });
    if (opened === null)
      throw new SettingsError(["kubernetes.kubeconfig must be set outside of a pod: it has the Services"]);
    const graphs = graphReader(aggregatorUrl, authorizedFetch({ tokenFile, caFile, clock }));
    const service = createDispatcher(config, { ...surroundings, store: opened.store, graphs });
    return [opened.part, { name: "dispatcher", service }];
  },
});
