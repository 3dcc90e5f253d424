// Runs a release's services as local processes with the chart's settings files and accounts.
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

  /** @param objects as from `helm template` @param other settings that must differ here, by section */
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
        // The Deployment sets the pod's name in the environment.
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

  port(): Promise<number> {
    return this.#installation.port();
  }

  /** Files that pods mount: the account's token and the CA certificates. */
  async #files(
    kind: "aggregator" | "scheduler-plugin",
    { graphCaFile, graphTokenFile, replicaFilesDirectory }: ComponentSettings[string],
  ): Promise<ComponentSettings[string]> {
    return {
      ...(graphCaFile === undefined ? {} : { graphCaFile: await this.#installation.caFile() }),
      ...(graphTokenFile === undefined ? {} : { graphTokenFile: await this.#installation.tokenFile(kind) }),
      // Other replicas' pods don't run here, so they can't be queried.
      ...(replicaFilesDirectory === undefined ? {} : { replicaFilesDirectory: this.#installation.folder }),
    };
  }

  /** Kills all processes, so that they leave as much as possible, such as held Leases. */
  async kill(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((service) => service.kill()));
  }

  close(): Promise<void> {
    return this.#installation.close();
  }
}
