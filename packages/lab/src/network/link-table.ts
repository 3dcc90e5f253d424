import { NetworkError } from "./errors.ts";
import { applyChange, IDEAL_LINK, type LinkChange, type LinkMatrix, type LinkSettings } from "./links.ts";

interface LinkEntry {
  readonly source: number;
  readonly target: number;
  readonly link: LinkSettings;
}

export class LinkTable {
  readonly nodes: readonly string[];
  readonly #index: ReadonlyMap<string, number>;
  readonly #links: LinkSettings[][];

  constructor(nodes: readonly string[], links: LinkMatrix) {
    this.nodes = [...nodes];
    this.#index = new Map(nodes.map((node, index) => [node, index]));
    if (nodes.length === 0)
      throw new NetworkError("invalid_argument", "a network must have at least one node, got none");
    if (this.#index.size !== nodes.length) {
      const repeated = nodes.find((node, index) => nodes.indexOf(node) !== index);
      throw new NetworkError("invalid_argument", `node names must differ, got "${repeated}" more than once`);
    }
    this.#links = nodes.map((from, row) => {
      if (links.length !== nodes.length || links[row]?.length !== nodes.length) {
        throw new NetworkError(
          "invalid_argument",
          `links of ${nodes.length} nodes must be ${nodes.length} x ${nodes.length}, got ${links.length} rows, row ${row} of ${links[row]?.length ?? 0}`,
        );
      }
      return nodes.map((to, column) =>
        row === column ? IDEAL_LINK : applyChange(`link ${from} to ${to}`, IDEAL_LINK, links[row]![column]!),
      );
    });
  }

  index(node: string): number {
    const index = this.#index.get(node);
    if (index !== undefined) return index;
    throw new NetworkError(
      "unknown_node",
      `there is no node "${node}", the network has ${this.nodes.join(", ")}`,
    );
  }

  link(a: string, b: string): LinkSettings {
    return this.#links[this.index(a)]![this.index(b)]!;
  }

  /** Changes one entry, or both of a pair; all or nothing. */
  change(a: string, b: string, change: LinkChange, oneWay: boolean): readonly LinkEntry[] {
    const source = this.index(a);
    const target = this.index(b);
    if (source === target) {
      throw new NetworkError("invalid_argument", `a link must join two nodes, got "${a}" twice`);
    }
    const changed = [{ source, target, link: applyChange(`link ${a} to ${b}`, this.link(a, b), change) }];
    if (!oneWay) {
      changed.push({
        source: target,
        target: source,
        link: applyChange(`link ${b} to ${a}`, this.link(b, a), change),
      });
    }
    for (const { source, target, link } of changed) this.#links[source]![target] = link;
    return changed;
  }

  matrix(): LinkMatrix {
    return this.#links;
  }

  rttMs(): readonly (readonly (number | null)[])[] {
    return this.#links.map((row, i) => row.map((link, j) => (i === j ? 0 : link.cut ? null : link.rttMs)));
  }
}
