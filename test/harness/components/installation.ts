import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { besideSecret, KINDS } from "@isochrone/kubernetes";
import { authorizedFetch, systemClock, type Fetch } from "@isochrone/runtime";
import { freePort } from "../common/free-port.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import type { ControlPlane } from "../control-plane/index.ts";
import { ComponentProcess, type ComponentKind } from "./component-process.ts";
import type { ComponentSettings } from "./tuned.ts";
import { MANIFEST_VALUES } from "./manifests.ts";

export const AUDIENCE = "isochrone";

/** Runs services as processes under their own service accounts, with only the chart's permissions. */
export class Installation {
  readonly #cluster: ControlPlane;
  readonly #folder = new ReapedFolder("isochrone-components");
  readonly #ports = new Set<number>();
  readonly #components: ComponentProcess[] = [];

  constructor(cluster: ControlPlane) {
    this.#cluster = cluster;
  }

  get folder(): string {
    return this.#folder.path;
  }

  port(): Promise<number> {
    return freePort("127.0.0.1", this.#ports);
  }

  /** Does not start the service. @param name process name @param server URL; @default the cluster's own */
  async component(
    kind: ComponentKind,
    name: string,
    settings: ComponentSettings,
    server?: string,
  ): Promise<ComponentProcess> {
    // A probe has no API server access and no URL of it.
    const kubernetes =
      kind === "probe"
        ? {}
        : {
            kubernetes: {
              kubeconfig: await this.#kubeconfig(kind, server),
              namespace: MANIFEST_VALUES.NAMESPACE,
              ...settings["kubernetes"],
            },
          };
    const trust = settings["certificates"] ?? settings["extenderCertificates"];
    const component = new ComponentProcess({
      kind,
      name,
      port: await this.port(),
      settings: { service: { logFormat: "text" }, ...settings, ...kubernetes },
      environment: this.#folder.environment,
      folder: this.folder,
      ...(trust === undefined
        ? {}
        : { fetch: this.#trustingFetch(besideSecret(String(trust["secret"]), "ca")) }),
    });
    this.#components.push(component);
    return component;
  }

  async caFile(configMap: string = MANIFEST_VALUES.TRUST_CONFIG_MAP): Promise<string> {
    const path = join(this.folder, `${configMap}.crt`);
    // Replaces the file atomically, like a kubelet, because others read it meanwhile.
    writeFileSync(`${path}.new`, await this.#trusted(configMap));
    renameSync(`${path}.new`, path);
    return path;
  }

  /** @param audience @default the graph API's; null: the API server's */
  async tokenFile(kind: ComponentKind, audience: string | null = AUDIENCE): Promise<string> {
    const options = audience === null ? {} : { audiences: [audience] };
    const { token } = await this.#cluster.serviceAccountToken(accountOf(kind), options);
    const path = join(this.folder, `token-${kind}-${audience ?? "api-server"}`);
    writeFileSync(path, token, { mode: 0o600 });
    return path;
  }

  /** Returns a graph API token file bound to a pod of the account on the node, like a projected token. */
  async nodeTokenFile(kind: ComponentKind, node: string): Promise<string> {
    const account = accountOf(kind);
    const name = `${kind}-of-${node}`;
    // Creating a token creates the account.
    await this.tokenFile(kind);
    const spec = { serviceAccountName: account.name, containers: [{ name: kind, image: "none" }] };
    const [pod] = await this.#cluster.create({
      ...KINDS.pod,
      metadata: { namespace: account.namespace, name },
      spec,
    });
    await this.#cluster.bindAndRun({ namespace: account.namespace, name }, node);
    const bound = { audiences: [AUDIENCE], pod: { name, uid: pod!.metadata.uid! } };
    const { token } = await this.#cluster.serviceAccountToken(account, bound);
    const path = join(this.folder, `token-${name}`);
    writeFileSync(path, token, { mode: 0o600 });
    return path;
  }

  /** Stops the services in reverse order and deletes their logs. */
  async close(): Promise<void> {
    await Promise.all(this.#components.map((component) => component.stop()));
    await this.#folder.remove();
  }

  #trustingFetch(configMap: string): Fetch {
    return async (url, init) => {
      const trusted = await this.#trusted(configMap);
      return authorizedFetch({ ca: () => trusted, clock: systemClock })(url, init);
    };
  }

  async #trusted(name: string): Promise<string> {
    const found = await this.#cluster.get({
      ...KINDS.configMap,
      namespace: MANIFEST_VALUES.NAMESPACE,
      name,
    });
    if (found === null) throw new Error(`there is no ConfigMap ${name}`);
    return (found["data"] as Readonly<Record<string, string>>)["ca.crt"]!;
  }

  #kubeconfig(kind: ComponentKind, server: string | undefined): Promise<string> {
    const identity = { serviceAccount: accountOf(kind) };
    return server === undefined
      ? this.#cluster.kubeconfigOf(identity)
      : this.#cluster.kubeconfigOf(identity, server);
  }
}

function accountOf(kind: ComponentKind): { readonly namespace: string; readonly name: string } {
  return { namespace: MANIFEST_VALUES.NAMESPACE, name: `${MANIFEST_VALUES.NAME}-${kind}` };
}
