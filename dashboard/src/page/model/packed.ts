// Transfers the worker's results to the main thread. Structured clone rebuilds a thousand node objects per
// version, so lists are sent as text, parsed lazily, and reused while unchanged.
import type { ClusterNode } from "@isochrone/topology";
import { keysOf, recordOf } from "@isochrone/primitives";
import type { Digest } from "./summary.ts";
import type { Grid } from "./grid.ts";
import type { ClusterView, Pairs } from "./cluster-view.ts";

export interface PackedView extends Omit<ClusterView, "nodes"> {
  readonly nodesText: string;
  readonly digest: Omit<Digest, "head">;
  readonly headText: string;
}

export interface PackedGrid extends Omit<Grid, "labels"> {
  readonly labelsText: string;
}

/** The view stays usable: its pairs are copied. Buffers in `moved` are transferred. */
export function packView(
  { nodes, pairs, ...view }: ClusterView,
  { head, ...digest }: Digest,
): { readonly packed: PackedView; readonly moved: ArrayBuffer[] } {
  const copy = copyOf(pairs);
  const columns = [copy.rowStart, copy.column, copy.flags, ...Object.values(copy.figures)];
  return {
    packed: {
      ...view,
      pairs: copy,
      nodesText: JSON.stringify(nodes),
      digest,
      headText: JSON.stringify(head),
    },
    moved: columns.map(({ buffer }) => buffer as ArrayBuffer),
  };
}

function copyOf({ rowStart, column, flags, figures }: Pairs): Pairs {
  return {
    rowStart: rowStart.slice(),
    column: column.slice(),
    flags: flags.slice(),
    figures: recordOf(keysOf(figures), (name) => figures[name].slice()),
  };
}

export function packGrid({ labels, ...grid }: Grid): {
  readonly packed: PackedGrid;
  readonly moved: ArrayBuffer[];
} {
  return {
    packed: { ...grid, labelsText: JSON.stringify(labels) },
    moved: [grid.values.buffer, grid.cells.buffer] as ArrayBuffer[],
  };
}

class Texts<T> {
  #text = "";
  #value: T | null = null;

  of(text: string): T {
    if (this.#value === null || this.#text !== text)
      [this.#text, this.#value] = [text, JSON.parse(text) as T];
    return this.#value;
  }
}

/** Unpacks in sequence; equal lists become the same object. */
export class Unpacker {
  readonly #nodes = new Texts<readonly ClusterNode[]>();
  readonly #head = new Texts<readonly ClusterNode[]>();
  readonly #labels = new Texts<readonly string[]>();

  view({ nodesText, headText, digest, ...view }: PackedView): {
    readonly view: ClusterView;
    readonly digest: Digest;
  } {
    const texts = this.#nodes;
    return {
      view: {
        ...view,
        get nodes() {
          return texts.of(nodesText);
        },
      },
      digest: { ...digest, head: this.#head.of(headText) },
    };
  }

  grid({ labelsText, ...grid }: PackedGrid): Grid {
    return { ...grid, labels: this.#labels.of(labelsText) };
  }
}
