// What the embedded cluster needs of others, as narrow as it can be.

/** A transport port on a node. */
export interface NodePort {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
}

/** Where a socket connects to. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * The network between nodes. A node's own address is only used on that node; others use what `resolve`
 * returns.
 */
export interface PodNetwork {
  /** The address on which the node's processes listen. */
  nodeAddress(node: string): string;
  /** Makes a port of a node reachable from the other nodes. */
  expose(node: string, port: NodePort): Promise<void> | void;
  unexpose(node: string, port: NodePort): Promise<void> | void;
  /** The address under which `source` reaches that port of `target`. */
  resolve(source: string, target: string, port: NodePort): SocketAddress | Promise<SocketAddress>;
  /**
   * What a command line on that node begins with, where nodes are places of their own such as network
   * namespaces.
   * @default nothing
   */
  commandOn?(node: string): readonly string[];
  /** Where a node's kubelet, which is part of this process, can listen. @default the node's address */
  kubeletAddress?(node: string): string;
}

/** One node of the embedded cluster. */
export interface Site {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}
