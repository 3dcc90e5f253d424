/** A matrix in rows, and the gradient of a loss by each of its values. */
export interface Tensor {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
  readonly gradient: Float32Array;
  /** Whether anything before it wants its gradient; constants don't. */
  readonly isTrained: boolean;
  /** The gradient of a value that is 0 is 0: it comes out of a ReLU. */
  readonly isRectified: boolean;
}

const NONE = new Float32Array(0);

export function tensor(rows: number, columns: number, isRectified = false): Tensor {
  const size = rows * columns;
  return {
    rows,
    columns,
    values: new Float32Array(size),
    gradient: new Float32Array(size),
    isTrained: true,
    isRectified,
  };
}

/** @param values in rows; not copied */
export function constant(rows: number, columns: number, values: Float32Array): Tensor {
  if (values.length !== rows * columns)
    throw new RangeError(`a matrix of ${rows} x ${columns} must have as many values, got ${values.length}`);
  return { rows, columns, values, gradient: NONE, isTrained: false, isRectified: false };
}
