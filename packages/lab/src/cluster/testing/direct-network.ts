import type { NodePort, PodNetwork, SocketAddress } from "../ports.ts";

export class DirectNetwork implements PodNetwork {
  readonly exposed = new Set<string>();
  readonly #hosts: ReadonlyMap<string, string>;

  constructor(nodes: readonly string[]) {
    this.#hosts = new Map(
      nodes.map((node, index) => [node, process.platform === "linux" ? `127.0.9.${index + 1}` : "127.0.0.1"]),
    );
  }

  nodeAddress(node: string): string {
    return this.#hosts.get(node)!;
  }

  expose(node: string, { protocol, port }: NodePort): void {
    this.exposed.add(`${node}/${protocol}/${port}`);
  }

  unexpose(node: string, { protocol, port }: NodePort): void {
    this.exposed.delete(`${node}/${protocol}/${port}`);
  }

  resolve(
    _source: string,
    target: string,
    { protocol, port }: NodePort,
  ): SocketAddress | Promise<SocketAddress> {
    if (!this.exposed.has(`${target}/${protocol}/${port}`))
      throw new Error(`port ${port} of ${target} is not exposed`);
    return { host: this.nodeAddress(target), port };
  }
}
