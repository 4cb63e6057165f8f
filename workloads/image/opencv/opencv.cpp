//go:build opencv && cgo

#include <cstddef>
#include <cstring>
#include <functional>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "opencv.h"

static cv::Mat mat(const image &m) {
	return cv::Mat(m.height, m.width, CV_MAKETYPE(m.is_float ? CV_32F : CV_8U, m.channels), m.data, m.stride);
}

// run calls f with that many threads of OpenCV; an exception becomes a message.
static char *run(int threads, const std::function<void()> &f) {
	try {
		cv::setNumThreads(threads);
		f();
		return nullptr;
	} catch (const std::exception &e) {
		return strdup(e.what());
	}
}

// strips calls f for strips of rows on OpenCV's threads: some of its functions use one only.
static void strips(int height, int threads, const std::function<void(const cv::Range &)> &f) {
	cv::parallel_for_(cv::Range(0, height), f, 4.0 * threads);
}

char *opencv_gaussian(image dst, image src, int threads, int radius, double sigma) {
	return run(threads, [&] {
		cv::Mat out = mat(dst);
		cv::GaussianBlur(mat(src), out, cv::Size(2 * radius + 1, 2 * radius + 1), sigma, sigma, cv::BORDER_REPLICATE);
	});
}

// A strip's filter reads the rows beside it, because it is a part of the whole image.
char *opencv_sobel(image dst, image src, int threads) {
	return run(threads, [&] {
		cv::Mat out = mat(dst), grey;
		cv::cvtColor(mat(src), grey, cv::COLOR_RGB2GRAY);
		strips(out.rows, threads, [&](const cv::Range &rows) {
			cv::Mat across, down, part = out.rowRange(rows);
			cv::Sobel(grey.rowRange(rows), across, CV_16S, 1, 0, 3, 1, 0, cv::BORDER_REPLICATE);
			cv::Sobel(grey.rowRange(rows), down, CV_16S, 0, 1, 3, 1, 0, cv::BORDER_REPLICATE);
			cv::convertScaleAbs(across, across);
			cv::convertScaleAbs(down, down);
			cv::add(across, down, part);
		});
	});
}

// An odd image is made even first: the mean of fewer pixels than four is another operation.
char *opencv_half(image dst, image src, int threads) {
	return run(threads, [&] {
		cv::Mat out = mat(dst), in = mat(src);
		if (in.rows % 2 != 0 || in.cols % 2 != 0) {
			cv::copyMakeBorder(mat(src), in, 0, in.rows % 2, 0, in.cols % 2, cv::BORDER_REPLICATE);
		}
		cv::resize(in, out, out.size(), 0, 0, cv::INTER_AREA);
	});
}

char *opencv_bilinear(image dst, image src, int threads) {
	return run(threads, [&] {
		cv::Mat out = mat(dst);
		cv::resize(mat(src), out, out.size(), 0, 0, cv::INTER_LINEAR);
	});
}

char *opencv_linear(image dst, image src, int threads, double factor, double offset) {
	return run(threads, [&] {
		cv::Mat out = mat(dst), in = mat(src);
		strips(out.rows, threads, [&](const cv::Range &rows) {
			cv::Mat part = out.rowRange(rows);
			in.rowRange(rows).convertTo(part, out.type(), factor, offset);
		});
	});
}

const char *opencv_version(void) { return CV_VERSION; }
