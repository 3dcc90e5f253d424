export interface NodePort {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
}

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/** The network between nodes. Other nodes must use the address that `resolve` returns. */
export interface PodNetwork {
  /** Address on which the node's processes listen. */
  nodeAddress(node: string): string;
  expose(node: string, port: NodePort): Promise<void> | void;
  unexpose(node: string, port: NodePort): Promise<void> | void;
  resolve(source: string, target: string, port: NodePort): SocketAddress | Promise<SocketAddress>;
  /** Command prefix that runs a program on that node, such as in a network namespace. @default none */
  commandOn?(node: string): readonly string[];
  /** Listen address of a node's kubelet, which runs in this process. @default the node's address */
  kubeletAddress?(node: string): string;
}

export interface Site {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}
