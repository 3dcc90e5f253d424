// Services as a release has them: with the settings that the chart's files hold, under its accounts; as
// processes here.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { Installation, type ComponentProcess, type ComponentSettings } from "../components/index.ts";
import type { ControlPlane } from "../control-plane/index.ts";
import { settingsOf } from "./objects.ts";

const HOST = "127.0.0.1";

export class Services {
  readonly #installation: Installation;
  readonly #running: ComponentProcess[] = [];

  constructor(cluster: ControlPlane) {
    this.#installation = new Installation(cluster);
  }

  /**
   * @param objects as `helm template` gives them
   * @param other settings that can't be the chart's here, by section
   */
  async start(
    kind: "aggregator" | "scheduler-plugin",
    objects: readonly KubernetesObject[],
    other: ComponentSettings = {},
  ): Promise<ComponentProcess> {
    const settings = settingsOf(objects, kind) as ComponentSettings;
    const section = kind === "aggregator" ? "aggregator" : "scheduler";
    const replicaName = `isochrone-${kind}-0`;
    const { host: _host, port: _port, ...own } = settings[section]!;
    const webhook = settings["webhook"] && {
      webhook: {
        ...settings["webhook"],
        host: HOST,
        port: await this.#installation.port(),
      },
    };
    const known: ComponentSettings = {
      ...settings,
      ...webhook,
      [section]: {
        ...own,
        // The Deployment says the pod's name by the environment.
        ...(kind === "scheduler-plugin" ? { replicaName } : {}),
        ...(await this.#files(kind, own)),
      },
    };
    const changed = Object.entries(other).map(([name, values]) => [name, { ...known[name], ...values }]);
    const merged = { ...known, ...(Object.fromEntries(changed) as ComponentSettings) };
    const service = await this.#installation.component(kind, replicaName, merged);
    this.#running.push(service);
    await service.start();
    return service;
  }

  /** On which nobody listens yet. */
  port(): Promise<number> {
    return this.#installation.port();
  }

  /** What pods mount: the token of the account, and whom to trust. */
  async #files(
    kind: "aggregator" | "scheduler-plugin",
    { graphCaFile, graphTokenFile, replicaFilesDirectory }: ComponentSettings[string],
  ): Promise<ComponentSettings[string]> {
    return {
      ...(graphCaFile === undefined ? {} : { graphCaFile: await this.#installation.caFile() }),
      ...(graphTokenFile === undefined ? {} : { graphTokenFile: await this.#installation.tokenFile(kind) }),
      // The pods of other replicas run nothing here that could be asked.
      ...(replicaFilesDirectory === undefined ? {} : { replicaFilesDirectory: this.#installation.folder }),
    };
  }

  /** At once, so that what they leave is as much as it can be: Leases that nobody gave up. */
  async kill(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((service) => service.kill()));
  }

  close(): Promise<void> {
    return this.#installation.close();
  }
}
