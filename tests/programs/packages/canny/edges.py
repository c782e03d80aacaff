import numpy as np

from .filters import convolve, gaussian_kernel, sobel


def non_maximum_suppression(G, theta):
    H, W = G.shape
    out = np.zeros((H, W))
    theta = np.floor((theta + 22.5) / 45) * 45
    theta = (theta % 360.0).astype(np.int32)
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            angle = theta[i, j]
            if angle == 0 or angle == 180:
                ma = max(G[i, j - 1], G[i, j + 1])
            elif angle == 45 or angle == 45 + 180:
                ma = max(G[i - 1, j - 1], G[i + 1, j + 1])
            elif angle == 90 or angle == 90 + 180:
                ma = max(G[i - 1, j], G[i + 1, j])
            elif angle == 135 or angle == 135 + 180:
                ma = max(G[i - 1, j + 1], G[i + 1, j - 1])
            else:
                raise Exception("unknown angle")
            out[i, j] = G[i, j] if G[i, j] > ma else 0
    return out


def get_neighbors(y, x, H, W):
    neighbors = []
    for i in (y - 1, y, y + 1):
        for j in (x - 1, x, x + 1):
            if i >= 0 and i < H and j >= 0 and j < W:
                if i == y and j == x:
                    continue
                neighbors.append((i, j))
    return neighbors


def link_edges(strong_edges, weak_edges):
    H, W = strong_edges.shape
    indices = np.stack(np.nonzero(strong_edges)).T
    weak_edges = np.copy(weak_edges)
    edges = np.copy(strong_edges)
    stack = [tuple(index) for index in indices]
    while stack:
        i, j = stack.pop()
        for y, x in get_neighbors(i, j, H, W):
            if weak_edges[y, x]:
                edges[y, x] = True
                weak_edges[y, x] = False
                stack.append((y, x))
    return edges


class CannyDetector:
    def __init__(self, kernel_size=5, sigma=1.4, high=0.3, low=0.1):
        if low > high:
            raise ValueError("low threshold above high threshold")
        self.kernel = gaussian_kernel(kernel_size, sigma)
        self.high, self.low = high, low
        self.stages = {}

    def detect(self, image):
        image = np.asarray(image, dtype=float)
        if image.ndim == 3:
            image = image @ np.array([0.299, 0.587, 0.114])
        smoothed = convolve(image, self.kernel)
        G, theta = sobel(smoothed)
        nms = non_maximum_suppression(G, theta)
        self.stages.update(smoothed=smoothed, gradient=G, thin=nms)
        high = self.high * nms.max()
        low = self.low * nms.max()
        return link_edges(nms > high, (nms <= high) & (nms > low))


def canny(image, **kwargs):
    detector = CannyDetector(**kwargs)
    edges = detector.detect(image)
    return edges, detector.stages["thin"]
