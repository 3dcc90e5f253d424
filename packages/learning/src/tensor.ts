export interface Tensor {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
  readonly gradient: Float32Array;
  readonly isTrained: boolean;
  /** After a ReLU: the gradient of a 0 is 0. */
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

/** @param values row-major; not copied */
export function constant(rows: number, columns: number, values: Float32Array): Tensor {
  if (values.length !== rows * columns)
    throw new RangeError(`a matrix of ${rows} x ${columns} must have as many values, got ${values.length}`);
  return { rows, columns, values, gradient: NONE, isTrained: false, isRectified: false };
}
