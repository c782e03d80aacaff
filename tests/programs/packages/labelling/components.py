import numpy as np

from .unionfind import UnionFind


def label(image, connectivity=1):
    """Two passes; labels are 1, 2, ... in raster order, 0 is background."""
    image = np.asarray(image)
    if image.ndim != 2:
        raise ValueError("only images of two dimensions")
    if connectivity not in (1, 2):
        raise ValueError(f"connectivity must be 1 or 2, got {connectivity}")
    H, W = image.shape
    sets = UnionFind(H * W)
    for y in range(H):
        for x in range(W):
            if not image[y, x]:
                continue
            if x > 0 and image[y, x - 1]:
                sets.union(y * W + x, y * W + x - 1)
            if y > 0:
                if image[y - 1, x]:
                    sets.union(y * W + x, (y - 1) * W + x)
                if connectivity == 2:
                    if x > 0 and image[y - 1, x - 1]:
                        sets.union(y * W + x, (y - 1) * W + x - 1)
                    if x < W - 1 and image[y - 1, x + 1]:
                        sets.union(y * W + x, (y - 1) * W + x + 1)
    labels = np.zeros((H, W), dtype=int)
    numbers = np.zeros(H * W, dtype=int)
    n = 0
    for y in range(H):
        for x in range(W):
            if image[y, x]:
                root = sets.find(y * W + x)
                if numbers[root] == 0:
                    n += 1
                    numbers[root] = n
                labels[y, x] = numbers[root]
    return labels, n


def regionprops(labels, intensity, n):
    """Area, mean intensity, centroid and bounding box of each region."""
    labels = np.asarray(labels)
    area = np.bincount(labels.ravel(), minlength=n + 1)[1 : n + 1]
    total = np.bincount(labels.ravel(), weights=np.ravel(intensity), minlength=n + 1)[1 : n + 1]
    centroids, boxes = [], []
    for k in range(1, n + 1):
        ys, xs = np.where(labels == k)
        if len(ys) == 0:
            centroids.append((np.nan, np.nan))
            boxes.append((0, 0, 0, 0))
            continue
        centroids.append((ys.mean(), xs.mean()))
        boxes.append((ys.min(), xs.min(), ys.max() + 1, xs.max() + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / area
    return {"area": area, "mean": mean, "centroid": np.array(centroids), "bbox": np.array(boxes)}
