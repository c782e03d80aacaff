"""Conway's Game of Life on a torus."""

import numpy as np


def life(board, generations):
    for _ in range(generations):
        neighbours = np.zeros_like(board)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy != 0 or dx != 0:
                    neighbours += np.roll(board, (dy, dx), axis=(0, 1))
        born = (board == 0) & (neighbours == 3)
        stays = (board == 1) & ((neighbours == 2) | (neighbours == 3))
        board = np.where(born | stays, 1, 0).astype(board.dtype)
    return board
